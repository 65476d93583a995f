import { type ErrorComponentProps, useRouter } from '@tanstack/react-router'
import { ErrorNote } from '../parts/error-note.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { errorTexts } from '../platform/api/error-texts.ts'
import { useTexts } from '../platform/language/language-context.tsx'

/** Instead of a page that could not be shown. */
export function Failed({ error }: ErrorComponentProps) {
  const say = useTexts(errorTexts.general)
  const router = useRouter()
  return (
    <main className="alone">
      <PageHead title={say('title')} />
      <ErrorNote error={error} onRetry={() => void router.invalidate()} />
    </main>
  )
}
