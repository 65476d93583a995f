import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { identitiesIn, normalisePoint, type PointKind } from './contact-points.ts'

function kept(kind: PointKind, text: string, country: string | null = null): string | null {
  const found = normalisePoint(kind, text, country)
  return 'value' in found ? found.value : null
}

const kinds: readonly PointKind[] = ['email', 'phone', 'iban', 'messenger']

describe('whatever somebody types', () => {
  const typed = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string(),
    fc.emailAddress(),
    fc.tuple(fc.string(), fc.string()).map((parts) => parts.join('@')),
    fc.tuple(fc.string(), fc.string()).map((parts) => parts.join(':')),
    fc.stringMatching(/^\+?[0-9 ()/-]{1,25}$/),
    fc.constantFrom('DE89 3704 0044 0532 0130 00', 'no9386011117947', 'Telegram : KimRoth', ' +49 (0)30 123456'),
  )

  test('comes out as one spelling that stays the same, or as a reason', () => {
    fc.assert(
      fc.property(typed, fc.constantFrom(...kinds), fc.constantFrom(null, 'DE', 'XX', ''), (text, kind, country) => {
        const found = normalisePoint(kind, text, country)
        if ('problem' in found) {
          expect(found.problem).not.toBe('')
          return
        }
        expect(normalisePoint(kind, found.value, null)).toEqual(found)
      }),
      { numRuns: 2_000 },
    )
  })

  test('has no blank around it, no sign that cannot be seen and no half of a sign in what comes out', () => {
    fc.assert(
      fc.property(typed, fc.constantFrom(...kinds), (text, kind) => {
        const value = kept(kind, text, 'DE')
        if (value === null) return
        expect(value).toBe(value.trim())
        expect(value).not.toMatch(/\p{C}/u)
        expect(value.isWellFormed()).toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('an e-mail address', () => {
  test.each([
    ['Kim.Roth@Muster.Example', 'kim.roth@muster.example'],
    ['  kim@muster.example \n', 'kim@muster.example'],
    ['kim+invoices@muster.example', 'kim+invoices@muster.example'],
    ['ÄRGER@muster.example', 'ärger@muster.example'],
    ['a\u0308rger@muster.example', 'ärger@muster.example'],
    ['kim@MÜLLER.example', 'kim@xn--mller-kva.example'],
    ["o'neil_a/b=c@x.museum", "o'neil_a/b=c@x.museum"],
  ])('%j is kept as %j', (text, value) => {
    expect(kept('email', text)).toBe(value)
  })

  test.each([
    '',
    'kim',
    '@muster.example',
    'kim@',
    'kim@muster',
    'kim@@muster.example',
    'kim@muster..example',
    'kim@-muster.example',
    'kim@muster.example.',
    'kim@127.0.0.1',
    'kim@mu%73ter.example',
    '.kim@muster.example',
    'kim..roth@muster.example',
    'kim roth@muster.example',
    'Kim <kim@muster.example>',
    'kim@muster.example, roth@muster.example',
    'kim\0@muster.example',
    'kim\ud800@muster.example',
    `${'k'.repeat(65)}@muster.example`,
    `kim@${`${'m'.repeat(60)}.`.repeat(5)}example`,
  ])('%j is refused', (text) => {
    expect(kept('email', text)).toBeNull()
  })
})

describe('a phone number', () => {
  test.each([
    ['+49 30 123456', null],
    ['+49 (0)30 123456', null],
    ['+49-30/12 34 56', null],
    ['+٤٩٣٠١٢٣٤٥٦', null],
    ['030 123456', 'DE'],
    ['(030) 12 34 56', 'DE'],
    ['0049 30 123456', 'DE'],
    ['+49 30 123456', 'FR'],
  ])('%j in %s is +4930123456', (text, country) => {
    expect(kept('phone', text, country)).toBe('+4930123456')
  })

  test('keeps the zero in front where it belongs to the number', () => {
    expect(kept('phone', '06 1234567', 'IT')).toBe('+39061234567')
  })

  test.each([
    ['030 123456', null, 'nor a country beside it'],
    ['0049 30 123456', null, 'nor a country beside it'],
    ['030 123456', 'XX', 'no country that has phone numbers'],
    ['110', 'DE', 'too short or too long'],
    ['+49 30 123456 ext. 5', null, 'extension'],
    ['+999 1234567', null, 'is no phone number'],
    ['+49 30 123456 or so', null, 'is no phone number'],
    ['1-800-FLOWERS', 'US', 'is no phone number'],
    ['', 'DE', 'is no phone number'],
  ])('%j in %s is refused and says why', (text, country, reason) => {
    expect(normalisePoint('phone', text, country)).toEqual({ problem: expect.stringContaining(reason) })
  })
})

describe('an IBAN', () => {
  const iban = 'DE89370400440532013000'

  test.each([iban, 'DE89 3704 0044 0532 0130 00', 'de89\u00a0370400440532013000'])(
    '%j is kept without blanks',
    (text) => {
      expect(kept('iban', text)).toBe(iban)
    },
  )

  test.each([
    'GB82WEST12345698765432',
    'NO9386011117947',
    'MT84MALT011000012345MTLCAST001S',
    'CH9300762011623852957',
    'FR1420041010050500013M02606',
  ])('of another country, %s, is one', (text) => {
    expect(kept('iban', text)).toBe(text)
  })

  test('with one wrong digit is refused, wherever it is', () => {
    const digits = [...iban].map((_, index) => index).slice(2)
    fc.assert(
      fc.property(fc.constantFrom(...digits), fc.integer({ min: 1, max: 9 }), (index, shift) => {
        const wrong = (Number(iban[index]) + shift) % 10
        expect(kept('iban', `${iban.slice(0, index)}${wrong}${iban.slice(index + 1)}`)).toBeNull()
      }),
    )
  })

  test('with two neighbours exchanged is refused', () => {
    for (let index = 4; index < iban.length - 1; index += 1) {
      const exchanged = `${iban.slice(0, index)}${iban[index + 1]}${iban[index]}${iban.slice(index + 2)}`
      if (exchanged !== iban) expect(kept('iban', exchanged), exchanged).toBeNull()
    }
  })

  test.each([
    ['DE8937040044053201300', 'one of DE has 22 characters'],
    ['DE893704004405320130000', 'one of DE has 22 characters'],
    ['DE89-3704-0044-0532-0130-00', 'is no IBAN such as'],
    ['IBAN DE89370400440532013000', 'is no IBAN such as'],
    ['', 'is no IBAN such as'],
  ])('%j is refused and says why', (text, reason) => {
    expect(normalisePoint('iban', text, null)).toEqual({ problem: expect.stringContaining(reason) })
  })

  test('has one pair of check digits: another one that leaves the same rest is refused', () => {
    // 98 and 01 leave the same rest modulo 97.
    const body = 'DE00500105175407324931'
    const pairs = Array.from({ length: 100 }, (_, digits) => `DE${String(digits).padStart(2, '0')}${body.slice(4)}`)
    expect(pairs.filter((text) => kept('iban', text) !== null)).toHaveLength(1)
    const all = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 18, maxLength: 18 })
    fc.assert(
      fc.property(all, (account) => {
        const found = pairs.filter(
          (_, digits) => kept('iban', `DE${String(digits).padStart(2, '0')}${account.join('')}`) !== null,
        )
        expect(found).toHaveLength(1)
      }),
      { numRuns: 50 },
    )
  })
})

describe('a messenger id', () => {
  test.each([
    ['telegram:4711', 'telegram:4711'],
    [' Telegram : KimRoth ', 'telegram:KimRoth'],
    ['whatsapp:4930123456@s.whatsapp.net', 'whatsapp:4930123456@s.whatsapp.net'],
    ['matrix:@kim:muster.example', 'matrix:@kim:muster.example'],
  ])('%j is kept as %j: the network in small letters, the id as it is', (text, value) => {
    expect(kept('messenger', text)).toBe(value)
  })

  test.each([
    '',
    'telegram',
    'telegram:',
    ':4711',
    '4711:telegram',
    'a b:c',
    'telegram:47\n11',
    `t:${'1'.repeat(300)}`,
  ])('%j is refused', (text) => {
    expect(kept('messenger', text)).toBeNull()
  })
})

describe('a text in the search', () => {
  test.each([
    ['KIM@muster.example', [{ kind: 'email', value: 'kim@muster.example' }]],
    ['+49 30 123456', [{ kind: 'phone', value: '+4930123456' }]],
    ['de89 3704 0044 0532 0130 00', [{ kind: 'iban', value: 'DE89370400440532013000' }]],
    ['Telegram:4711', [{ kind: 'messenger', value: 'telegram:4711' }]],
    ['Kim Roth', []],
    ['030 123456', []],
  ])('%j means %j', (text, identities) => {
    expect(identitiesIn(text)).toEqual(identities)
  })
})
