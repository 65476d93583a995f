import { Stack, Text, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { areas } from '../../areas.ts'
import { isOpenTo } from '../../frame/area.ts'
import { useMe } from '../../frame/me.ts'
import { roleTexts } from '../../frame/role-texts.ts'
import { BookIcon, DocumentIcon, KeyIcon, PeopleIcon, ShieldIcon } from '../../parts/icons.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { useTexts } from '../../platform/language/language-context.tsx'
import { startTexts } from './texts.ts'

export function StartPage() {
  const say = useTexts(startTexts)
  const sayRole = useTexts(roleTexts)
  const { user, organization } = useMe()
  if (organization === null) return null
  const where = { email: user.email, organization: organization.name, role: sayRole(organization.role) }
  return (
    <Stack gap="xl">
      <PageHead title={say('title', { name: user.name })} description={say('here', where)} />
      <section aria-labelledby="soon">
        <Title order={2} size="h4" id="soon">
          {say('soonTitle')}
        </Title>
        <Text c="dimmed" mb="md">
          {say('soonText')}
        </Text>
        <dl className="lines">
          <Line title={say('moneyTitle')} text={say('moneyText')} />
          <Line title={say('needsTitle')} text={say('needsText')} />
          <Line title={say('proofTitle')} text={say('proofText')} />
        </dl>
      </section>
      <section aria-labelledby="steps">
        <Title order={2} size="h4" id="steps" mb="md">
          {say('stepsTitle')}
        </Title>
        <ul className="steps">
          <Steps />
        </ul>
      </section>
    </Stack>
  )
}

function Line({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{text}</dd>
    </div>
  )
}

/** Only those that the role can take, and that are still to be taken. */
function Steps() {
  const say = useTexts(startTexts)
  const { user, organization } = useMe()
  const may = (path: string) => organization !== null && isOpenTo(organization.role, path, areas)
  return (
    <>
      {may('/settings/members') && (
        <Step icon={<PeopleIcon />} title={say('inviteTitle')} text={say('inviteText')} to="/settings/members" />
      )}
      {may('/settings/api-keys') && (
        <Step icon={<KeyIcon />} title={say('keyTitle')} text={say('keyText')} to="/settings/api-keys" />
      )}
      {!user.hasTwoFactor && (
        <Step icon={<ShieldIcon />} title={say('securityTitle')} text={say('securityText')} to="/account" />
      )}
      {may('/settings/audit') && (
        <Step icon={<BookIcon />} title={say('auditTitle')} text={say('auditText')} to="/settings/audit" />
      )}
      <Step icon={<DocumentIcon />} title={say('apiTitle')} text={say('apiText')} href="/api/docs/" />
    </>
  )
}

interface StepProps {
  readonly icon: ReactNode
  readonly title: string
  readonly text: string
  readonly to?: string
  /** Outside of these pages. */
  readonly href?: string
}

function Step({ icon, title, text, to, href }: StepProps) {
  const content = (
    <>
      <span className="step-title">
        {icon} {title}
      </span>
      <span className="step-text">{text}</span>
    </>
  )
  return <li>{to === undefined ? <a href={href}>{content}</a> : <Link to={to}>{content}</Link>}</li>
}
