/**
 * Keeps the key of what a person is about to do. The same content is the same act and gets the same key, however often it is sent;
 * other content, or anything after a success, is a new one.
 */
export interface Intent {
  keyFor(content: unknown): string
  isDone(): void
}

export function createIntent(newKey: () => string): Intent {
  let current: { readonly content: string; readonly key: string } | null = null
  return {
    keyFor(content) {
      const text = JSON.stringify(content) ?? ''
      if (current?.content !== text) current = { content: text, key: newKey() }
      return current.key
    },
    isDone() {
      current = null
    },
  }
}
