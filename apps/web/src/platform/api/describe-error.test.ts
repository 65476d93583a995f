import { errors } from '@einmal/contract'
import { describe, expect, test } from 'vitest'
import { languages } from '../language/language.ts'
import { describeError } from './describe-error.ts'
import { authCodes, ownCodes } from './error-codes.ts'
import { RequestFailed } from './request.ts'

const requestId = '0198f3c2-0000-7000-8000-000000000001'
const codes = [...new Set([...Object.keys(errors), ...authCodes, ...ownCodes])]
const general = (language: 'en' | 'de') => describeError(new Error('x'), language)

describe.each(languages)('in %s', (language) => {
  test.each(codes)('%s has words of its own that say what to do', (code) => {
    const words = describeError(new RequestFailed({ code, status: 400 }), language)
    expect(words).not.toBe(general(language))
    expect(words).toMatch(/^\p{Lu}.+[.]$/u)
    expect(words).not.toContain('_')
  })

  test('an unknown code has the general words, and the number to ask about', () => {
    const words = describeError(new RequestFailed({ code: 'brand_new', status: 418, requestId }), language)
    expect(words).toContain(general(language))
    expect(words).toContain(requestId)
  })

  test('a fault of ours tells the number, and a refusal does not', () => {
    expect(describeError(new RequestFailed({ code: 'internal', status: 500, requestId }), language)).toContain(
      requestId,
    )
    expect(describeError(new RequestFailed({ code: 'last_owner', status: 409, requestId }), language)).not.toContain(
      requestId,
    )
  })
})

test('after too many attempts, the wait is told in minutes', () => {
  const failed = (retryAfterSeconds: number) =>
    new RequestFailed({ code: 'too_many_attempts', status: 429, retryAfterSeconds })
  expect(describeError(failed(170), 'de')).toContain('In 3 Minuten')
  expect(describeError(failed(10), 'en')).toContain('in a minute')
})

test('a name that every object has is no known code', () => {
  expect(describeError(new RequestFailed({ code: 'toString', status: 400 }), 'en')).toBe(general('en'))
})
