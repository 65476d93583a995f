import { Button, Stack } from '@mantine/core'
import { ErrorNote } from '../parts/error-note.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { useTexts } from '../platform/language/language-context.tsx'
import { useMe } from './me.ts'
import { frameTexts } from './texts.ts'
import { useSignOut, useSwitch } from './use-session.ts'

/** For somebody who is signed in and works nowhere: not yet, not any more, or with a choice to make. */
export function NoOrganization() {
  const say = useTexts(frameTexts)
  const { user, organizations } = useMe()
  const signOut = useSignOut()
  const choice = useSwitch()
  const { email } = user
  if (organizations.length > 0) {
    return (
      <Stack align="flex-start">
        <PageHead title={say('chooseTitle')} description={say('chooseText', { email })} />
        {organizations.map(({ id, name }) => (
          <Button key={id} variant="default" onClick={() => choice.run(id)}>
            {name}
          </Button>
        ))}
        <ErrorNote error={choice.error} />
      </Stack>
    )
  }
  return (
    <Stack align="flex-start">
      <PageHead title={say('noOrganizationTitle')} description={say('noOrganizationText', { email })} />
      <Button loading={signOut.isPending} onClick={() => signOut.run('here')}>
        {say('signOut')}
      </Button>
      <ErrorNote error={signOut.error} />
    </Stack>
  )
}
