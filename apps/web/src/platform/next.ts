const OFFICE = 'http://office.invalid'

/** The page to go to after the sign-in: one of ours, never an address elsewhere that somebody put into a link. */
export function safeNext(next: unknown): string {
  const url = typeof next === 'string' ? URL.parse(next, OFFICE) : null
  if (url === null || url.origin !== OFFICE || url.pathname === '/sign-in') return '/'
  // A path that begins with two slashes would be read as the name of another host.
  return url.pathname.startsWith('//') ? '/' : `${url.pathname}${url.search}`
}
