import { Button, Checkbox, Stack, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { ErrorNote } from '../../parts/error-note.tsx'
import { CodeField, checks, fieldTexts } from '../../parts/fields.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { TextButton } from '../../parts/text-button.tsx'
import { useFields } from '../../parts/use-fields.ts'
import { useFocus } from '../../parts/use-focus.ts'
import { useAct } from '../../platform/api/act.ts'
import { askAuth, isCoded } from '../../platform/api/request.ts'
import { useTexts } from '../../platform/language/language-context.tsx'
import { signInTexts } from './texts.ts'

interface Props {
  onEntered(): void
  /** Back to the password: by choice, or because the time for the second step is over. */
  onStartAgain(): void
}

export function SecondStep(props: Props) {
  const [usesRecovery, setUsesRecovery] = useState(false)
  return usesRecovery ? (
    <Recovery {...props} onOther={() => setUsesRecovery(false)} />
  ) : (
    <Code {...props} onOther={() => setUsesRecovery(true)} />
  )
}

interface StepProps extends Props {
  onOther(): void
}

function Code({ onEntered, onStartAgain, onOther }: StepProps) {
  const say = useTexts(signInTexts)
  const sayField = useTexts(fieldTexts)
  const [trustDevice, setTrustDevice] = useState(false)
  const input = useFocus<HTMLInputElement>()
  const act = useAct((code: string) => askAuth('two-factor/verify-totp', { code, trustDevice }), onEntered)
  const { field, whenSound } = useFields({ code: '' }, ({ code }) => {
    const found = checks.code(code)
    return { code: found && sayField(found) }
  })
  return (
    <form noValidate onSubmit={whenSound(({ code }) => act.run(code.replaceAll(' ', '')))}>
      <Stack>
        <PageHead title={say('codeTitle')} description={say('codeText')} />
        <CodeField ref={input} {...field('code')} />
        <Checkbox
          label={say('trust')}
          description={say('trustHint')}
          checked={trustDevice}
          onChange={(event) => setTrustDevice(event.currentTarget.checked)}
        />
        <Ending error={act.error} isPending={act.isPending} onStartAgain={onStartAgain}>
          <TextButton onClick={onOther}>{say('toRecovery')}</TextButton>
        </Ending>
      </Stack>
    </form>
  )
}

function Recovery({ onEntered, onStartAgain, onOther }: StepProps) {
  const say = useTexts(signInTexts)
  const sayField = useTexts(fieldTexts)
  const input = useFocus<HTMLInputElement>()
  const act = useAct((code: string) => askAuth('two-factor/verify-backup-code', { code }), onEntered)
  const { field, whenSound } = useFields({ code: '' }, ({ code }) => {
    const found = checks.recoveryCode(code)
    return { code: found && sayField(found) }
  })
  return (
    <form noValidate onSubmit={whenSound(({ code }) => act.run(code.trim()))}>
      <Stack>
        <PageHead title={say('recoveryTitle')} description={say('recoveryText')} />
        <TextInput
          ref={input}
          label={sayField('recoveryCode')}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          {...field('code')}
        />
        <Ending error={act.error} isPending={act.isPending} onStartAgain={onStartAgain}>
          <TextButton onClick={onOther}>{say('toCode')}</TextButton>
        </Ending>
      </Stack>
    </form>
  )
}

interface EndingProps {
  readonly error: unknown
  readonly isPending: boolean
  onStartAgain(): void
  readonly children: ReactNode
}

function Ending({ error, isPending, onStartAgain, children }: EndingProps) {
  const say = useTexts(signInTexts)
  const isOver = isCoded(error, 'INVALID_TWO_FACTOR_COOKIE', 'TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE')
  return (
    <>
      <ErrorNote error={error} />
      {isOver ? (
        <Button onClick={onStartAgain}>{say('back')}</Button>
      ) : (
        <Button type="submit" loading={isPending}>
          {say('continue')}
        </Button>
      )}
      <Text size="sm" component="div">
        <Stack gap="xs" align="flex-start">
          {children}
          <TextButton onClick={onStartAgain}>{say('startAgain')}</TextButton>
        </Stack>
      </Text>
    </>
  )
}
