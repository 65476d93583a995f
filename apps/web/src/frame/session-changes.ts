/** One for both directions: what a channel says it does not hear itself. */
const channel = new BroadcastChannel('einmal-session')

/** Tells the other tabs that somebody signed out here, or chose another organisation. */
export function tellSessionChange(): void {
  channel.postMessage(null)
}

/** Returns what ends the listening. */
export function hearSessionChanges(onChange: () => void): () => void {
  channel.addEventListener('message', onChange)
  return () => channel.removeEventListener('message', onChange)
}
