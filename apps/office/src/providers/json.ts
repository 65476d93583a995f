import { isUtf8 } from 'node:buffer'

/**
 * JSON as the sender wrote it.
 *
 * `JSON.parse` alone changes numbers without a word: 9007199254740993 becomes …992, so two ids become one, and 1190.0
 * becomes 1190, so euros become cents. Here an integer that a float cannot hold is a `bigint`, and a number written
 * with a point or an exponent is a `JsonDecimal` that keeps its text. Every other number is a plain safe integer.
 */
export class JsonDecimal {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type ParsedJson = { readonly value: unknown } | { readonly problem: string }

/**
 * A reviver sees each number's text but makes parsing some ten times slower, so it runs only where a number could have
 * been changed: sixteen digits in a row, or a number with a point or an exponent. A match inside a string costs
 * time, nothing else.
 */
const mayLoseDigits = /\d{16}|[:,[\s]-?\d+[.eE]/

const integer = /^-?\d+$/

type ReviverContext = [context?: { readonly source?: string }]

function keepDigits(_key: string, value: unknown, ...[context]: ReviverContext): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value
  if (!integer.test(context.source)) return new JsonDecimal(context.source)
  return Number.isSafeInteger(value) ? value : BigInt(context.source)
}

/** Parses a body. Never throws; the problem is a sentence for a person. */
export function parseJson(body: Buffer): ParsedJson {
  // Decoding would replace every invalid byte by the same character and so make one id of two.
  if (!isUtf8(body)) return { problem: 'The body is not valid UTF-8.' }
  // A byte order mark is against the JSON standard and still what some .NET senders write.
  const hasMark = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf
  const text = body.toString('utf8', hasMark ? 3 : 0)
  try {
    return { value: mayLoseDigits.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text) }
  } catch {
    // A syntax error, or with the reviver a body nested deeper than the stack.
    return { problem: 'The body is not readable as JSON.' }
  }
}
