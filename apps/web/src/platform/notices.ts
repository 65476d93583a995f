interface Notice {
  readonly text: string
}

let current: Notice | null = null
const listeners = new Set<() => void>()

/** Says in a corner of the page that something is done. */
export function giveNotice(text: string): void {
  show({ text })
}

export function dismissNotice(): void {
  show(null)
}

export function currentNotice(): Notice | null {
  return current
}

export function hearNotices(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function show(notice: Notice | null): void {
  current = notice
  for (const listener of listeners) listener()
}
