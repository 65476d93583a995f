const NAME = 'einmal-session'

/** Tells the other tabs that somebody signed in or out here, or chose another organisation. */
export function tellSessionChange(): void {
  const channel = new BroadcastChannel(NAME)
  channel.postMessage(null)
  channel.close()
}

/** Returns what ends the listening. */
export function hearSessionChanges(onChange: () => void): () => void {
  const channel = new BroadcastChannel(NAME)
  channel.onmessage = onChange
  return () => channel.close()
}
