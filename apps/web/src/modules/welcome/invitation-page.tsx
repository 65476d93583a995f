import type { InvitationOffer, Me } from '@einmal/contract'
import { Button, Stack, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import { roleTexts } from '../../frame/role-texts.ts'
import { ErrorNote } from '../../parts/error-note.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { PageButton } from '../../parts/page-link.tsx'
import { useAct } from '../../platform/api/act.ts'
import { askAuth, isCoded, write } from '../../platform/api/request.ts'
import { useAnswer } from '../../platform/api/use-answer.ts'
import { goTo } from '../../platform/go-to.ts'
import { useLanguage, useTexts } from '../../platform/language/language-context.tsx'
import { forgetLinkToken, useLinkToken } from '../../platform/link-token.ts'
import { NewAccount } from './new-account.tsx'
import { NoToken } from './no-token.tsx'
import { welcomeTexts } from './texts.ts'

export function InvitationPage() {
  const say = useTexts(welcomeTexts)
  const token = useLinkToken('invitation')
  if (token === null) return <NoToken text={say('invitationNoToken')} />
  return <Opened token={token} key={token} />
}

/** What the link leads to. */
function Opened({ token }: { readonly token: string }) {
  const say = useTexts(welcomeTexts)
  const [invitation, setInvitation] = useState<InvitationOffer | null>(null)
  const { run, error } = useAct(
    (content: { readonly token: string }, key) => write<InvitationOffer>('POST', '/invitations/read', content, key),
    setInvitation,
  )
  // Asked again only on purpose: `run` is another function each time.
  const [readOnce] = useState(() => run)
  useEffect(() => readOnce({ token }), [readOnce, token])
  if (invitation !== null) return <Offer token={token} invitation={invitation} />
  if (error === null) {
    return (
      <div role="status">
        <PageHead title={say('invitationTitle')} description={say('reading')} />
      </div>
    )
  }
  const isInvalid = isCoded(error, 'link_invalid')
  return (
    <Stack>
      <PageHead title={say(isInvalid ? 'failedTitle' : 'invitationTitle')} />
      {isInvalid ? <ErrorNote error={error} /> : <ErrorNote error={error} onRetry={() => run({ token })} />}
      <PageButton to="/sign-in" variant="default">
        {say('toSignIn')}
      </PageButton>
    </Stack>
  )
}

function Offer({ token, invitation }: { readonly token: string; readonly invitation: InvitationOffer }) {
  const say = useTexts(welcomeTexts)
  const sayRole = useTexts(roleTexts)
  const { formats } = useLanguage()
  const { organizationName, email, role, isAccepted, hasAccount, expiresAt } = invitation
  const organization = organizationName
  if (isAccepted) {
    return (
      <Stack>
        <PageHead title={say('acceptedTitle')} description={say('acceptedText', { organization })} />
        <PageButton to="/sign-in">{say('signIn')}</PageButton>
      </Stack>
    )
  }
  return (
    <Stack>
      <PageHead
        title={say('invitationTitle')}
        description={say('invitationText', { organization, email, role: sayRole(role) })}
      />
      {hasAccount ? <WithAccount token={token} email={email} /> : <NewAccount token={token} email={email} />}
      <Text size="sm" c="dimmed">
        {say('until', { day: formats.day(expiresAt) })}
      </Text>
    </Stack>
  )
}

/** For somebody who has an account: they accept when they are signed in with it. */
function WithAccount({ token, email }: { readonly token: string; readonly email: string }) {
  const say = useTexts(welcomeTexts)
  const me = useAnswer<Me>('/me')
  const accept = useAct(
    (content: { readonly token: string }, key) => write('POST', '/invitations/accept', content, key),
    () => {
      forgetLinkToken('invitation')
      goTo('/')
    },
  )
  const signOut = useAct(
    (_: 'here') => askAuth('sign-out', {}),
    () => goTo('/sign-in?next=/invitation'),
  )
  if (me === null || isCoded(accept.error, 'unauthorized')) {
    return (
      <>
        <Text>{say('hasAccountText')}</Text>
        <PageButton to="/sign-in" search={{ next: '/invitation' }}>
          {say('signIn')}
        </PageButton>
      </>
    )
  }
  if (me.user.email.toLowerCase() !== email.toLowerCase()) {
    return (
      <>
        <Text>{say('otherText', { current: me.user.email, email })}</Text>
        <ErrorNote error={signOut.error} />
        <Button loading={signOut.isPending} onClick={() => signOut.run('here')}>
          {say('signOut')}
        </Button>
      </>
    )
  }
  return (
    <>
      <ErrorNote error={accept.error} />
      <Button loading={accept.isPending} onClick={() => accept.run({ token })}>
        {say('join')}
      </Button>
    </>
  )
}
