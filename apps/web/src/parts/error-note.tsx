import { Button } from '@mantine/core'
import { describeError } from '../platform/api/describe-error.ts'
import { errorTexts } from '../platform/api/error-texts.ts'
import { useLanguage, useTexts } from '../platform/language/language-context.tsx'

interface Props {
  readonly error: unknown
  /** Where the same can be tried again at once. */
  readonly onRetry?: () => void
}

/** What went wrong, read out as soon as it is there. Nothing where nothing did. */
export function ErrorNote({ error, onRetry }: Props) {
  const { language } = useLanguage()
  const say = useTexts(errorTexts.general)
  if (error === null || error === undefined) return null
  return (
    <div className="note note-error" role="alert">
      <p>{describeError(error, language)}</p>
      {onRetry !== undefined && (
        <Button variant="default" onClick={onRetry}>
          {say('retry')}
        </Button>
      )}
    </div>
  )
}
