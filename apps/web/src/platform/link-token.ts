import { useLocation, useRouter } from '@tanstack/react-router'
import { useLayoutEffect, useState } from 'react'
import { readStored, store } from './storage.ts'

type LinkPage = 'set-up' | 'invitation' | 'reset-password'

/**
 * The token of the link that led here. It stands behind the `#`, so that it reaches no log, is taken out of the address as soon as it
 * is read, and kept for this tab until `forgetLinkToken`: neither a reload nor a sign-in on the way loses it.
 */
export function useLinkToken(page: LinkPage): string | null {
  const hash = useLocation({ select: (location) => location.hash })
  const router = useRouter()
  const [token, setToken] = useState(() => (hash === '' ? readStored(keyOf(page), 'sessionStorage') : hash))
  useLayoutEffect(() => {
    if (hash === '') return
    store(keyOf(page), hash, 'sessionStorage')
    setToken(hash)
    router.history.replace(`/${page}`)
  }, [hash, page, router])
  return token
}

export function forgetLinkToken(page: LinkPage): void {
  store(keyOf(page), null, 'sessionStorage')
}

function keyOf(page: LinkPage): string {
  return `einmal-link-${page}`
}
