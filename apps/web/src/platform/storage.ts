/** What a browser keeps for us. Where it keeps nothing (a private window, a policy), the page works all the same. */
type Kind = 'localStorage' | 'sessionStorage'

export function readStored(key: string, kind: Kind = 'localStorage'): string | null {
  try {
    return window[kind].getItem(key)
  } catch {
    return null
  }
}

/** `null` forgets it. */
export function store(key: string, value: string | null, kind: Kind = 'localStorage'): void {
  try {
    if (value === null) window[kind].removeItem(key)
    else window[kind].setItem(key, value)
  } catch {
    // Nothing depends on it but comfort.
  }
}
