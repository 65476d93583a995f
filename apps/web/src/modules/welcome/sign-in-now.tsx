import { Stack } from '@mantine/core'
import { PageHead } from '../../parts/page-head.tsx'
import { PageButton } from '../../parts/page-link.tsx'
import { useTexts } from '../../platform/language/language-context.tsx'
import { welcomeTexts } from './texts.ts'

/** The account is there, and only the sign-in with it did not come about. */
export function SignInNow({ title }: { readonly title: string }) {
  const say = useTexts(welcomeTexts)
  return (
    <Stack>
      <PageHead title={title} description={say('signInNow')} />
      <PageButton to="/sign-in">{say('toSignIn')}</PageButton>
    </Stack>
  )
}
