/** The header `Idempotency-Key`, read strictly: what does not name exactly one thing is refused with the reason. */
import { eventKey, KeyError } from '../keys.ts'

export type HeaderKey =
  | { readonly verdict: 'absent' }
  | { readonly verdict: 'named'; readonly key: string }
  | { readonly verdict: 'refused'; readonly reason: string }

const MAX_KEY_LENGTH = 255

/** A string of RFC 9651: printable ASCII in quotes, quote and backslash escaped, nothing behind it. */
const quoted = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/
/** Visible ASCII without quote and comma: a comma is what two headers are joined with. */
const bare = /^[!#-+\--~]+$/

/**
 * The key in quotes, as the draft of the IETF has it, and the same text bare, as most clients send it, are one key: a client
 * that learns to quote must not do a thing twice. White space around it is not part of it.
 */
export function readHeaderKey(value: string | readonly string[] | undefined): HeaderKey {
  if (value === undefined) return { verdict: 'absent' }
  const text = (typeof value === 'string' ? value : value.join(', ')).replace(/^[ \t]+|[ \t]+$/g, '')
  const key = bare.test(text) ? text : quoted.exec(text)?.[1]?.replace(/\\(["\\])/g, '$1')
  if (text === '') return refused('The Idempotency-Key is empty.')
  if (key === undefined) {
    return refused('The Idempotency-Key is one string: printable ASCII, bare without blanks and commas, or in quotes.')
  }
  if (key.length > MAX_KEY_LENGTH) {
    return refused(
      `The Idempotency-Key has ${key.length} characters; at most ${MAX_KEY_LENGTH} are taken, none is cut.`,
    )
  }
  try {
    eventKey({ source: 'http', kind: 'request', id: key })
  } catch (error) {
    if (error instanceof KeyError) return refused(error.message.replace(/^The id\b/, 'The Idempotency-Key'))
    throw error
  }
  return { verdict: 'named', key }
}

function refused(reason: string): HeaderKey {
  return { verdict: 'refused', reason }
}
