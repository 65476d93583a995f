import { describe, expect, test } from 'vitest'
import { readHeaderKey } from './header-key.ts'

describe('the header Idempotency-Key', () => {
  test.each([
    ['k-1', 'k-1'],
    ['"k-1"', 'k-1'],
    ['\t k-1 ', 'k-1'],
    ['"a b"', 'a b'],
    [String.raw`"a\"b\\c"`, String.raw`a"b\c`],
    [String.raw`a\b`, String.raw`a\b`],
    ['8e03978e-40d5-43dd-bc93-6894a57f9324', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
    ['a+/=:;~', 'a+/=:;~'],
  ])('%s names %s', (value, key) => {
    expect(readHeaderKey(value)).toEqual({ verdict: 'named', key })
  })

  test.each([
    '',
    '  ',
    '""',
    '" "',
    'a,b',
    'a, b',
    'a"b',
    '"a',
    'a"',
    '"a"b"',
    String.raw`"a\b"`,
    '"a";p',
    'a\u0001b',
    '"a\u007fb"',
    'ü',
    'null',
    '"undefined"',
    '1764504000',
    'k'.repeat(256),
  ])('%j is refused with a reason', (value) => {
    const reason = expect.stringMatching(/^The Idempotency-Key .*\.$/)
    expect(readHeaderKey(value)).toEqual({ verdict: 'refused', reason })
  })

  test('of several lines is refused, even where they agree', () => {
    expect(readHeaderKey(['k-1', 'k-1'])).toMatchObject({ verdict: 'refused' })
  })

  test('that is not there is no key', () => {
    expect(readHeaderKey(undefined)).toEqual({ verdict: 'absent' })
  })
})
