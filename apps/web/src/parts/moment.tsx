import { useNow } from '../platform/clock.ts'
import { useLanguage } from '../platform/language/language-context.tsx'

/** How long ago; the exact time when pointed at. */
export function Moment({ at }: { readonly at: string }) {
  const { formats } = useLanguage()
  const nowMs = useNow()
  return (
    <time dateTime={at} title={formats.moment(at)}>
      {formats.relative(at, nowMs)}
    </time>
  )
}
