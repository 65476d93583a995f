import { Stack } from '@mantine/core'
import { PageHead } from '../../parts/page-head.tsx'
import { PageButton } from '../../parts/page-link.tsx'
import { useTexts } from '../../platform/language/language-context.tsx'
import { welcomeTexts } from './texts.ts'

/** For a page that is opened by a link, without what the link carries. */
export function NoToken({ text }: { readonly text: string }) {
  const say = useTexts(welcomeTexts)
  return (
    <Stack>
      <PageHead title={say('noTokenTitle')} description={text} />
      <PageButton to="/sign-in">{say('toSignIn')}</PageButton>
    </Stack>
  )
}
