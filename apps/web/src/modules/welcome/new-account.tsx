import { Button, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { ErrorNote } from '../../parts/error-note.tsx'
import { checks, EmailField, fieldTexts, NameField, PasswordField } from '../../parts/fields.tsx'
import { PageButton } from '../../parts/page-link.tsx'
import { useFields } from '../../parts/use-fields.ts'
import { useAct } from '../../platform/api/act.ts'
import { write } from '../../platform/api/request.ts'
import { useTexts } from '../../platform/language/language-context.tsx'
import { forgetLinkToken } from '../../platform/link-token.ts'
import { enter } from './enter.ts'
import { welcomeTexts } from './texts.ts'

/** For somebody without an account: name and password, and they are in. */
export function NewAccount({ token, email }: { readonly token: string; readonly email: string }) {
  const say = useTexts(welcomeTexts)
  const sayField = useTexts(fieldTexts)
  const [needsSignIn, setNeedsSignIn] = useState(false)
  const act = useAct(
    (content: { readonly token: string; readonly name: string; readonly password: string }, key) =>
      write('POST', '/invitations/accept', content, key),
    async (_, { password }) => {
      forgetLinkToken('invitation')
      if (!(await enter(email, password))) setNeedsSignIn(true)
    },
  )
  const { field, whenSound } = useFields({ name: '', password: '' }, (values) => {
    const found = { name: checks.name(values.name), password: checks.newPassword(values.password) }
    return { name: found.name && sayField(found.name), password: found.password && sayField(found.password) }
  })
  if (needsSignIn) {
    return (
      <>
        <Text role="status">{say('signInNow')}</Text>
        <PageButton to="/sign-in">{say('toSignIn')}</PageButton>
      </>
    )
  }
  return (
    <form noValidate onSubmit={whenSound(({ name, password }) => act.run({ token, name: name.trim(), password }))}>
      <Stack>
        <Text>{say('newText')}</Text>
        <EmailField value={email} readOnly />
        <NameField {...field('name')} />
        <PasswordField isNew label={sayField('password')} {...field('password')} />
        <ErrorNote error={act.error} />
        <Button type="submit" loading={act.isPending}>
          {say('join')}
        </Button>
      </Stack>
    </form>
  )
}
