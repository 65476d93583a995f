import { Stack, Text } from '@mantine/core'
import { ErrorNote } from '../../parts/error-note.tsx'
import { checks, fieldTexts, PasswordField } from '../../parts/fields.tsx'
import { FormActions } from '../../parts/form-actions.tsx'
import { useFields } from '../../parts/use-fields.ts'
import { useAct } from '../../platform/api/act.ts'
import { useTexts } from '../../platform/language/language-context.tsx'
import { accountTexts } from './texts.ts'

interface Props<Answer> {
  readonly text?: string
  readonly submit: string
  perform(password: string): Promise<Answer>
  onDone(answer: Answer): void | Promise<void>
  onCancel(): void
}

/** Before what changes how somebody signs in: a screen that was left open must not be enough. */
export function PasswordFirst<Answer>({ text, submit, perform, onDone, onCancel }: Props<Answer>) {
  const say = useTexts(accountTexts)
  const sayField = useTexts(fieldTexts)
  const act = useAct(perform, onDone)
  const { field, whenSound } = useFields({ password: '' }, ({ password }) => {
    const found = checks.password(password)
    return { password: found && sayField(found) }
  })
  return (
    <form noValidate onSubmit={whenSound(({ password }) => act.run(password))}>
      <Stack>
        {text !== undefined && <Text>{text}</Text>}
        <Text>{say('passwordFirst')}</Text>
        <PasswordField data-autofocus {...field('password')} />
        <ErrorNote error={act.error} />
        <FormActions submit={submit} isPending={act.isPending} onCancel={onCancel} />
      </Stack>
    </form>
  )
}
