import { Text } from '@mantine/core'
import { PageHead } from '../parts/page-head.tsx'
import { PageLink } from '../parts/page-link.tsx'
import { texts } from '../platform/language/language.ts'
import { useTexts } from '../platform/language/language-context.tsx'

const words = texts(
  {
    title: 'There is no such page',
    text: 'The address may be mistyped, or the page has moved.',
    home: 'To the start page',
  },
  {
    title: 'Diese Seite gibt es nicht',
    text: 'Vielleicht ist die Adresse vertippt, oder die Seite ist umgezogen.',
    home: 'Zur Startseite',
  },
)

export function NotFound() {
  const say = useTexts(words)
  return (
    <main className="alone">
      <PageHead title={say('title')} />
      <Text>{say('text')}</Text>
      <PageLink to="/">{say('home')}</PageLink>
    </main>
  )
}
