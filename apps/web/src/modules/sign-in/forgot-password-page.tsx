import type { Door } from '@einmal/contract'
import { Button, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { ErrorNote } from '../../parts/error-note.tsx'
import { checks, EmailField, fieldTexts } from '../../parts/fields.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { useFields } from '../../parts/use-fields.ts'
import { useAct } from '../../platform/api/act.ts'
import { askAuth } from '../../platform/api/request.ts'
import { useAnswer } from '../../platform/api/use-answer.ts'
import { useTexts } from '../../platform/language/language-context.tsx'
import { signInTexts } from './texts.ts'

export function ForgotPasswordPage() {
  const door = useAnswer<Door>('/door')
  const say = useTexts(signInTexts)
  const [sentTo, setSentTo] = useState<string | null>(null)
  return (
    <Stack>
      {sentTo === null ? (
        <Ask onSent={setSentTo} />
      ) : (
        <div role="status">
          <PageHead
            title={say('sentTitle')}
            description={say(door?.sendsMail === false ? 'madeText' : 'sentText', { email: sentTo })}
          />
        </div>
      )}
      <Text size="sm">
        <PageLink to="/sign-in">{say('back')}</PageLink>
      </Text>
    </Stack>
  )
}

function Ask({ onSent }: { onSent(email: string): void }) {
  const say = useTexts(signInTexts)
  const sayField = useTexts(fieldTexts)
  const door = useAnswer<Door>('/door')
  const act = useAct(
    (email: string) => askAuth('request-password-reset', { email }),
    (_, email) => onSent(email),
  )
  const { field, whenSound } = useFields({ email: '' }, ({ email }) => {
    const found = checks.email(email)
    return { email: found && sayField(found) }
  })
  const sendsMail = door?.sendsMail !== false
  return (
    <form noValidate onSubmit={whenSound(({ email }) => act.run(email.trim()))}>
      <Stack>
        <PageHead title={say('forgotTitle')} description={say(sendsMail ? 'forgotText' : 'forgotNoMail')} />
        <EmailField {...field('email')} />
        <ErrorNote error={act.error} />
        <Button type="submit" loading={act.isPending}>
          {say(sendsMail ? 'send' : 'makeLink')}
        </Button>
      </Stack>
    </form>
  )
}
