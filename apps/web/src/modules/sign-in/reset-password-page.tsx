import { Button, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { ErrorNote } from '../../parts/error-note.tsx'
import { checks, fieldTexts, PasswordField } from '../../parts/fields.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { PageButton, PageLink } from '../../parts/page-link.tsx'
import { useFields } from '../../parts/use-fields.ts'
import { useAct } from '../../platform/api/act.ts'
import { askAuth, isCoded } from '../../platform/api/request.ts'
import { useTexts } from '../../platform/language/language-context.tsx'
import { forgetLinkToken, useLinkToken } from '../../platform/link-token.ts'
import { signInTexts } from './texts.ts'

export function ResetPasswordPage() {
  const say = useTexts(signInTexts)
  const token = useLinkToken('reset-password')
  const [isDone, setIsDone] = useState(false)
  if (isDone) {
    return (
      <Stack>
        <div role="status">
          <PageHead title={say('resetDoneTitle')} description={say('resetDoneText')} />
        </div>
        <PageButton to="/sign-in">{say('toSignIn')}</PageButton>
      </Stack>
    )
  }
  if (token === null) {
    return (
      <Stack>
        <PageHead title={say('noTokenTitle')} description={say('noTokenText')} />
        <PageButton to="/forgot-password">{say('askAgain')}</PageButton>
      </Stack>
    )
  }
  return <NewPassword token={token} onDone={() => setIsDone(true)} />
}

function NewPassword({ token, onDone }: { readonly token: string; onDone(): void }) {
  const say = useTexts(signInTexts)
  const sayField = useTexts(fieldTexts)
  const act = useAct(
    (newPassword: string) => askAuth('reset-password', { token, newPassword }),
    () => {
      forgetLinkToken('reset-password')
      onDone()
    },
  )
  const { field, whenSound } = useFields({ password: '' }, ({ password }) => {
    const found = checks.newPassword(password)
    return { password: found && sayField(found) }
  })
  return (
    <form noValidate onSubmit={whenSound(({ password }) => act.run(password))}>
      <Stack>
        <PageHead title={say('resetTitle')} description={say('resetText')} />
        <PasswordField isNew {...field('password')} />
        <ErrorNote error={act.error} />
        {isCoded(act.error, 'INVALID_TOKEN') && (
          <Text size="sm">
            <PageLink to="/forgot-password">{say('askAgain')}</PageLink>
          </Text>
        )}
        <Button type="submit" loading={act.isPending}>
          {say('resetSubmit')}
        </Button>
      </Stack>
    </form>
  )
}
