import { Notification } from '@mantine/core'
import { useEffect, useSyncExternalStore } from 'react'
import { CheckIcon } from '../parts/icons.tsx'
import { useTexts } from '../platform/language/language-context.tsx'
import { currentNotice, dismissNotice, hearNotices } from '../platform/notices.ts'
import { frameTexts } from './texts.ts'

const SHOWN_FOR_MS = 8_000

/** What has just been done, in a corner of the page; read out, and gone by itself after a while. */
export function Notices() {
  const say = useTexts(frameTexts)
  const notice = useSyncExternalStore(hearNotices, currentNotice)
  useEffect(() => {
    if (notice === null) return undefined
    const timer = setTimeout(dismissNotice, SHOWN_FOR_MS)
    return () => clearTimeout(timer)
  }, [notice])
  return (
    <div className="notices" role="status">
      {notice !== null && (
        <Notification
          icon={<CheckIcon />}
          withBorder
          onClose={dismissNotice}
          closeButtonProps={{ 'aria-label': say('close') }}
          role="none"
        >
          {notice.text}
        </Notification>
      )}
    </div>
  )
}
