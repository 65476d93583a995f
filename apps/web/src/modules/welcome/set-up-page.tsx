import { Button, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ErrorNote } from '../../parts/error-note.tsx'
import { checks, EmailField, fieldTexts, NameField, PasswordField } from '../../parts/fields.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { useFields, type Values } from '../../parts/use-fields.ts'
import { useAct } from '../../platform/api/act.ts'
import { write } from '../../platform/api/request.ts'
import { useTexts } from '../../platform/language/language-context.tsx'
import { forgetLinkToken, useLinkToken } from '../../platform/link-token.ts'
import { enter } from './enter.ts'
import { NoToken } from './no-token.tsx'
import { SignInNow } from './sign-in-now.tsx'
import { welcomeTexts } from './texts.ts'

export function SetUpPage() {
  const say = useTexts(welcomeTexts)
  const token = useLinkToken('set-up')
  const [needsSignIn, setNeedsSignIn] = useState(false)
  if (needsSignIn) return <SignInNow title={say('setUpDoneTitle')} />
  if (token === null) return <NoToken text={say('setUpNoToken')} />
  return <SetUp token={token} onUnentered={() => setNeedsSignIn(true)} />
}

type Name = 'organizationName' | 'name' | 'email' | 'password'

function SetUp({ token, onUnentered }: { readonly token: string; onUnentered(): void }) {
  const say = useTexts(welcomeTexts)
  const sayField = useTexts(fieldTexts)
  const act = useAct(
    (content: Values<Name> & { readonly token: string }, key) => write('POST', '/set-up', content, key),
    async (_, { email, password }) => {
      forgetLinkToken('set-up')
      if (!(await enter(email, password))) onUnentered()
    },
  )
  const initial = { organizationName: '', name: '', email: '', password: '' }
  const { field, whenSound } = useFields<Name>(initial, (values) => {
    const found = {
      name: checks.name(values.name),
      email: checks.email(values.email),
      password: checks.newPassword(values.password),
    }
    return {
      organizationName: values.organizationName.trim() === '' ? say('organizationMissing') : null,
      name: found.name && sayField(found.name),
      email: found.email && sayField(found.email),
      password: found.password && sayField(found.password),
    }
  })
  const onSubmit = whenSound(({ organizationName, name, email, password }) =>
    act.run({
      token,
      organizationName: organizationName.trim(),
      name: name.trim(),
      email: email.trim(),
      password,
    }),
  )
  return (
    <form noValidate onSubmit={onSubmit}>
      <Stack>
        <PageHead title={say('setUpTitle')} description={say('setUpText')} />
        <TextInput
          label={say('organization')}
          description={say('organizationHint')}
          autoComplete="organization"
          maxLength={200}
          {...field('organizationName')}
        />
        <NameField {...field('name')} />
        <EmailField {...field('email')} />
        <PasswordField isNew label={sayField('password')} {...field('password')} />
        <ErrorNote error={act.error} />
        <Button type="submit" loading={act.isPending}>
          {say('setUpSubmit')}
        </Button>
      </Stack>
    </form>
  )
}
