import { useSyncExternalStore } from 'react'
import { texts } from '../platform/language/language.ts'
import { useTexts } from '../platform/language/language-context.tsx'

const words = texts(
  { offline: 'You are offline. What you see may be out of date.' },
  { offline: 'Sie sind offline. Was Sie sehen, ist vielleicht nicht mehr aktuell.' },
)

/** Says across the page that there is no connection, for as long as there is none. */
export function Offline() {
  const say = useTexts(words)
  const isOnline = useSyncExternalStore(subscribe, () => navigator.onLine)
  return (
    <div role="status" className="offline">
      {isOnline ? null : say('offline')}
    </div>
  )
}

function subscribe(onChange: () => void): () => void {
  window.addEventListener('online', onChange)
  window.addEventListener('offline', onChange)
  return () => {
    window.removeEventListener('online', onChange)
    window.removeEventListener('offline', onChange)
  }
}
