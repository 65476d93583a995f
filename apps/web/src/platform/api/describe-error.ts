import type { Language } from '../language/language.ts'
import { sayIn } from '../language/language.ts'
import type { KnownCode } from './error-codes.ts'
import { errorTexts } from './error-texts.ts'
import { RequestFailed } from './request.ts'

/** Codes whose cause only the log of the office knows. */
const untold = new Set(['internal', 'unknown'])

/** What went wrong and what to do next, in the person's words. Every error has some. */
export function describeError(error: unknown, language: Language): string {
  const say = sayIn(errorTexts.general, language)
  if (!(error instanceof RequestFailed)) return say('unknown')
  const { code, requestId, retryAfterSeconds } = error
  const isKnown = isKnownCode(code)
  const words = [isKnown ? sayIn(errorTexts.coded, language)(code) : say('unknown')]
  if (code === 'too_many_attempts' && retryAfterSeconds !== null) {
    words.push(say('wait', { count: Math.ceil(retryAfterSeconds / 60) }))
  }
  if (requestId !== null && (!isKnown || untold.has(code))) words.push(say('reference', { requestId }))
  return words.join(' ')
}

function isKnownCode(code: string): code is KnownCode {
  return Object.hasOwn(errorTexts.coded.en, code)
}
