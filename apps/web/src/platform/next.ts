/** The page to go to after the sign-in: one of ours, never an address elsewhere that somebody put into a link. */
export function safeNext(next: unknown): string {
  if (typeof next !== 'string' || !/^\/(?![/\\])/.test(next)) return '/'
  const { origin, pathname, search } = new URL(next, 'http://office.invalid')
  if (origin !== 'http://office.invalid' || pathname === '/sign-in') return '/'
  return `${pathname}${search}`
}
