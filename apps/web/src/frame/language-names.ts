import type { Language } from '../platform/language/language.ts'

/** Each in itself, so that whoever looks for it can read it. */
export const languageNames: readonly (readonly [Language, string])[] = [
  ['de', 'Deutsch'],
  ['en', 'English'],
]
