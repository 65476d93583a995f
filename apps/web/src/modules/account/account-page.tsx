import { Button, Stack, Text, Title } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useId, useState } from 'react'
import { meQuery, useMe } from '../../frame/me.ts'
import { ErrorNote } from '../../parts/error-note.tsx'
import { checks, fieldTexts, NameField, PasswordField } from '../../parts/fields.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { useFields } from '../../parts/use-fields.ts'
import { useAct } from '../../platform/api/act.ts'
import { askAuth } from '../../platform/api/request.ts'
import { useTexts } from '../../platform/language/language-context.tsx'
import { giveNotice } from '../../platform/notices.ts'
import { Sessions } from './sessions.tsx'
import { accountTexts } from './texts.ts'
import { TwoFactor } from './two-factor.tsx'

export function AccountPage() {
  const say = useTexts(accountTexts)
  const { user } = useMe()
  // A new password leaves the form empty.
  const [passwordCount, setPasswordCount] = useState(0)
  return (
    <Stack gap="xl">
      <PageHead title={say('title')} description={say('description')} />
      <Section title={say('profile')} text={say('email', { email: user.email })}>
        <Profile />
      </Section>
      <Section title={say('password')} text={say('passwordText')}>
        <Password key={passwordCount} onChanged={() => setPasswordCount((count) => count + 1)} />
      </Section>
      <Section title={say('secondStep')} text={say(user.hasTwoFactor ? 'secondStepIsOn' : 'secondStepIsOff')}>
        <TwoFactor />
      </Section>
      <Section title={say('sessions')} text={say('sessionsText')}>
        <Sessions />
      </Section>
    </Stack>
  )
}

interface SectionProps {
  readonly title: string
  readonly text: string
  readonly children: ReactNode
}

function Section({ title, text, children }: SectionProps) {
  const id = useId()
  return (
    <section aria-labelledby={id}>
      <Title order={2} size="h4" id={id}>
        {title}
      </Title>
      <Text c="dimmed" mb="md" maw="44rem" className="breakable">
        {text}
      </Text>
      {children}
    </section>
  )
}

function Profile() {
  const say = useTexts(accountTexts)
  const sayField = useTexts(fieldTexts)
  const queryClient = useQueryClient()
  const { user } = useMe()
  const act = useAct(
    (name: string) => askAuth('update-user', { name }),
    async () => {
      giveNotice(say('nameSaved'))
      await queryClient.invalidateQueries({ queryKey: meQuery.queryKey })
    },
  )
  const { field, whenSound } = useFields({ name: user.name }, ({ name }) => {
    const found = checks.name(name)
    return { name: found && sayField(found) }
  })
  return (
    <form noValidate className="narrow" onSubmit={whenSound(({ name }) => act.run(name.trim()))}>
      <Stack align="stretch">
        <NameField {...field('name')} />
        <ErrorNote error={act.error} />
        <Button type="submit" variant="default" loading={act.isPending} className="at-start">
          {say('save')}
        </Button>
      </Stack>
    </form>
  )
}

function Password({ onChanged }: { onChanged(): void }) {
  const say = useTexts(accountTexts)
  const sayField = useTexts(fieldTexts)
  const queryClient = useQueryClient()
  const { user } = useMe()
  const act = useAct(
    (given: { readonly currentPassword: string; readonly newPassword: string }) =>
      askAuth('change-password', { ...given, revokeOtherSessions: true }),
    async () => {
      giveNotice(say('passwordSaved'))
      await queryClient.invalidateQueries({ queryKey: ['/me/sessions'] })
      onChanged()
    },
  )
  const { field, whenSound } = useFields({ currentPassword: '', newPassword: '' }, (values) => {
    const current = checks.password(values.currentPassword)
    const chosen = checks.newPassword(values.newPassword)
    return { currentPassword: current && sayField(current), newPassword: chosen && sayField(chosen) }
  })
  return (
    <form noValidate className="narrow" onSubmit={whenSound(act.run)}>
      <Stack>
        {/* For password managers, which else would not know whose password this is. */}
        <input type="text" name="username" autoComplete="username" value={user.email} readOnly hidden />
        <PasswordField label={sayField('currentPassword')} {...field('currentPassword')} />
        <PasswordField isNew {...field('newPassword')} />
        <ErrorNote error={act.error} />
        <Button type="submit" variant="default" loading={act.isPending} className="at-start">
          {say('passwordSubmit')}
        </Button>
      </Stack>
    </form>
  )
}
