import type { Activity } from './queries.ts'

/** A line that a person or a program writes. Its event names it: the same request again adds none. */
export function noteOf(note: {
  readonly id: string
  readonly subject: Activity['subject']
  readonly text: string
  readonly author: { readonly type: string; readonly id: string }
  readonly eventId: string
}): Activity {
  const { id, subject, text, author, eventId } = note
  return { id, subject, key: `note:${eventId}`, type: 'note', eventId, data: { text, author } }
}
