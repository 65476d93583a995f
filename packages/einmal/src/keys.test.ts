import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  compositeId,
  eventKey,
  eventName,
  idempotencyKey,
  KeyError,
  type KeyErrorCode,
  keyText,
  MAX_ID_BYTES,
} from './keys.ts'

const SEED = 20_261_130

function check(property: Parameters<typeof fc.assert>[0]): void {
  // On failure fast-check prints seed and path; the seed is fixed, so that every run is the same run.
  fc.assert(property, { seed: SEED, numRuns: 2_000 })
}

function refusalOf(work: () => unknown): { code: KeyErrorCode; part: string; message: string } | 'accepted' {
  try {
    work()
    return 'accepted'
  } catch (error) {
    if (!(error instanceof KeyError)) throw error
    return { code: error.code, part: error.part, message: error.message }
  }
}

const keyOf = (id: unknown, options?: { numericIds?: boolean }) =>
  eventKey({ scope: 'acme', source: 'stripe', kind: 'payment.paid', id }, options)
const idOf = (id: unknown) => keyOf(id).id

/** Texts that are made to collide: the separators and escapes are frequent in them. */
const trickyText = fc.string({
  unit: fc.constantFrom('a', 'b', 'A', ':', '%', '&', '=', '3', ' ', '\u00e9', 'e\u0301'),
})
const name = trickyText.filter((text) => refusalOf(() => idOf(text)) === 'accepted')

/** Undoes the escapes, so that a test can take a text apart without asking the code under test. */
function unescapeText(text: string): string {
  return text.replace(/%(25|26|3A|3D)/g, (_escape, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

describe('two keys with different parts', () => {
  test('never have one text: whatever separators are in them, the text can be taken apart into the same parts', () => {
    check(
      fc.property(name, name, name, (source, kind, id) => {
        const [first = '', second = '', ...rest] = keyText(eventKey({ scope: 's', source, kind, id })).split(':')
        expect([unescapeText(first), unescapeText(second), rest.join(':')]).toEqual([source, kind, id])
      }),
    )
  })

  test('a:b + c is another key than a + b:c', () => {
    const keyTextOf = (source: string, kind: string, id: string) => keyText(eventKey({ scope: 's', source, kind, id }))
    expect(keyTextOf('a:b', 'c', 'd')).not.toBe(keyTextOf('a', 'b:c', 'd'))
    expect(keyTextOf('a', 'b:c', 'd')).not.toBe(keyTextOf('a', 'b', 'c:d'))
    expect(keyTextOf('a%3Ab', 'c', 'd')).not.toBe(keyTextOf('a:b', 'c', 'd'))
  })
})

describe('an idempotency key', () => {
  const base = { scope: 'a', source: 'b', kind: 'c', id: 'd' }
  const textOf = (parts: Parameters<typeof eventKey>[0]) => idempotencyKey(eventKey(parts))

  test('trap 5: is another one for every other scope, source, kind, id and generation, wherever a separator stands', () => {
    const keys = [
      base,
      ...['scope', 'source', 'kind', 'id'].map((part) => ({ ...base, [part]: 'other' })),
      ...['scope', 'source', 'kind'].map((part) => ({ ...base, [part]: 'a:b' })),
      { ...base, id: 'c:d', kind: 'b' },
      { ...base, generation: 2 },
      { ...base, generation: 22 },
      { ...base, id: '2', generation: 2 },
      { ...base, id: '%64' },
      { ...base, id: 'D' },
      { ...base, id: 'caf\u00e9' },
      { ...base, id: 'cafe\u0301' },
      { ...base, id: '9007199254740992' },
      { ...base, id: 9_007_199_254_740_993n },
      { ...base, id: `${'x'.repeat(500)}1` },
      { ...base, id: `${'x'.repeat(500)}2` },
    ]
    expect(new Set(keys.map(textOf)).size).toBe(keys.length)
    check(
      fc.property(name, name, name, name, (scope, source, kind, id) => {
        const parts = textOf({ scope, source, kind, id }).split(':').map(decodeURIComponent)
        expect(parts).toEqual([scope, source, kind, id])
      }),
    )
  })

  test('may travel in a header, and is as long as targets take it', () => {
    for (const id of ['Grüße\t\n', '\u{1f4b6}'.repeat(100), ' ', '"', 'x'.repeat(1023)].map((text) => `${text}1`)) {
      expect(textOf({ ...base, id })).toMatch(/^[!-~]{1,255}$/)
    }
  })

  test('never changes, because a target may remember it for years', () => {
    expect(textOf({ ...base, kind: 'mail.send', generation: 2, id: 'ä/1' })).toBe('a:b:mail.send%232:%C3%A4%2F1')
    const digest = 'ea5000d251c4797edaf6a0da523f9bb1e47917f2fa0a558b7059dd18466f91f3'
    expect(textOf({ ...base, id: 'x'.repeat(300) })).toBe(`sha256:${digest}`)
  })
})

describe('a generation', () => {
  const parts = { scope: 's', source: 'shop', kind: 'label.print', id: 'o-1' }

  test('is part of the kind, and comes out again as it went in', () => {
    expect(eventKey({ ...parts, generation: 3 })).toEqual({ ...parts, kind: 'label.print#3' })
    expect(eventKey({ ...parts, generation: 1 })).toEqual(parts)
    for (const generation of [1, 2, 10]) {
      expect(eventName(eventKey({ ...parts, generation }))).toEqual({ ...parts, generation })
    }
    expect(keyText(eventKey({ ...parts, generation: 2 }))).toBe('shop:label.print#2:o-1')
  })

  test('cannot be had by a kind that looks like one', () => {
    for (const kind of ['label.print#2', '#1', 'a#b#07']) {
      expect(refusalOf(() => eventKey({ ...parts, kind }))).toMatchObject({ code: 'reserved', part: 'kind' })
    }
    for (const kind of ['label#print', 'label.print#', '#2 print']) expect(eventKey({ ...parts, kind }).kind).toBe(kind)
    expect(eventKey({ ...parts, id: 'o#2', source: 'shop#2' })).toMatchObject({ id: 'o#2', source: 'shop#2' })
  })

  test('is a whole number from 1 on', () => {
    for (const generation of [0, -1, 1.5, Number.NaN, 2 ** 53]) {
      expect(refusalOf(() => eventKey({ ...parts, generation }))).toMatchObject({ code: 'not_generation' })
    }
  })
})

describe('a composite id', () => {
  const fields = fc.dictionary(trickyText, fc.oneof(trickyText, fc.string({ unit: 'binary' })), {
    minKeys: 1,
    maxKeys: 4,
  })

  test('is another one for every other set of fields, over arbitrary strings: it can be taken apart again', () => {
    let compared = 0
    check(
      fc.property(fields, (given) => {
        if (refusalOf(() => compositeId(given)) !== 'accepted') return
        compared += 1
        const parts = compositeId(given)
          .split('&')
          .map((part) => part.split('=').map(unescapeText))
        expect(Object.fromEntries(parts)).toEqual({ ...given })
      }),
    )
    expect(compared).toBeGreaterThan(500)
  })

  test('is another one when a separator moves from one field to the next', () => {
    expect(compositeId({ x: 'a&y=b', y: 'c' })).not.toBe(compositeId({ x: 'a', y: 'b&y=c' }))
    expect(compositeId({ x: 'a', 'y=b': 'c' })).not.toBe(compositeId({ x: 'a', y: 'b=c' }))
    expect(compositeId({ x: '%26' })).not.toBe(compositeId({ x: '&' }))
  })

  test('does not depend on the order in which the fields come', () => {
    expect(compositeId({ account: 'A', line: 7 })).toBe(compositeId({ line: '7', account: 'A' }))
  })

  test.each([
    ['undefined', undefined],
    ['null', null],
    ['empty', ''],
    ['blank', '  '],
    ['an object', {}],
    ['an object without prototype', Object.create(null)],
    ['a printed nothing', 'undefined'],
    ['NUL', 'a\0'],
  ])('with one half %s is refused, because what is left names many things', (_title, value) => {
    expect(refusalOf(() => compositeId({ line: value, account: 'DE89' }))).toMatchObject({
      code: 'half_composite',
      part: 'line',
      message: expect.stringContaining('"line"'),
    })
  })

  test('of no field at all, or of times only, is refused', () => {
    expect(refusalOf(() => compositeId({}))).toMatchObject({ code: 'empty' })
    expect(refusalOf(() => compositeId({ at: '2026-03-02T10:00:00Z', sent: 1_700_000_000 }))).toMatchObject({
      code: 'time_stamp',
    })
  })

  test('may have a time beside a field that names something', () => {
    expect(compositeId({ account: 'DE89', at: '2026-03-02T10:00:00Z' })).toBe(
      'account=DE89&at=2026-03-02T10%3A00%3A00Z',
    )
  })
})

describe('a value that cannot name one event is refused with the reason', () => {
  const refused: [title: string, value: unknown, code: KeyErrorCode][] = [
    ['IDEM-12 missing', undefined, 'absent'],
    ['IDEM-18 null', null, 'absent'],
    ['IDEM-12 empty', '', 'empty'],
    ['IDEM-12 three blanks', '   ', 'blank'],
    ['tab, line end, no-break space', '\t\n\u00a0', 'blank'],
    ['the text "null"', 'null', 'placeholder'],
    ['the text "undefined"', 'undefined', 'placeholder'],
    ['the text " NULL "', ' NULL ', 'placeholder'],
    ['the text "NaN"', 'NaN', 'placeholder'],
    ['a printed object', '[object Object]', 'placeholder'],
    ['an object', { id: 'evt_1' }, 'not_text'],
    ['an object without prototype', Object.create(null), 'not_text'],
    ['a list', ['evt_1'], 'not_text'],
    ['a boolean', true, 'not_text'],
    ['a symbol', Symbol('evt_1'), 'not_text'],
    ['a fraction', 1.5, 'not_text'],
    ['not a number', Number.NaN, 'not_text'],
    ['IDEM-17 the number 2^53', 2 ** 53, 'not_text'],
    ['IDEM-17 a number below -2^53', -(2 ** 53), 'not_text'],
    ['IDEM-16 with NUL', 'pay_\u00001', 'nul'],
    ['with a lone high surrogate', 'pay_\ud83d', 'not_unicode'],
    ['with a lone low surrogate', '\ude00pay', 'not_unicode'],
    ['IDEM-15 of 10,000 characters', 'x'.repeat(10_000), 'too_long'],
    ['one byte too long', 'x'.repeat(MAX_ID_BYTES + 1), 'too_long'],
    ['too long in UTF-8 only', '\u20ac'.repeat(342), 'too_long'],
    ['a time', '2026-03-02T10:00:00Z', 'time_stamp'],
    ['a time with offset and fraction', '2026-03-02T10:00:00.123+01:00', 'time_stamp'],
    ['a time without zone', '2026-03-02 10:00', 'time_stamp'],
    ['Unix seconds', '1772445600', 'time_stamp'],
    ['Unix seconds as a number', 1_772_445_600, 'time_stamp'],
    ['Unix milliseconds', '1772445600123', 'time_stamp'],
    ['Unix milliseconds as a bigint', 1_772_445_600_123n, 'time_stamp'],
  ]

  test.each(refused)('id: %s', (_title, value, code) => {
    const refusal = refusalOf(() => keyOf(value))
    expect(refusal).toMatchObject({ code, part: 'id', message: expect.stringMatching(/^The id /) })
  })

  test.each(['source', 'kind', 'scope'])('%s: missing, empty, blank, printed nothing, over-long', (part) => {
    const withPart = (value: unknown) =>
      refusalOf(() => eventKey({ scope: 's', source: 'a', kind: 'b', id: 'c', [part]: value }))
    expect(withPart(undefined)).toMatchObject({ code: 'absent', part })
    expect(withPart(null)).toMatchObject({ code: 'absent', part })
    expect(withPart('')).toMatchObject({ code: 'empty', part })
    expect(withPart(' ')).toMatchObject({ code: 'blank', part })
    expect(withPart('undefined')).toMatchObject({ code: 'placeholder', part })
    expect(withPart({})).toMatchObject({ code: 'not_text', part })
    expect(withPart('x'.repeat(201))).toMatchObject({ code: 'too_long', part })
    expect(withPart('x'.repeat(200))).toBe('accepted')
  })

  test('IDEM-18: only a scope that was left out is the default one; a scope that got lost is refused', () => {
    expect(eventKey({ source: 'a', kind: 'b', id: 'c' }).scope).toBe('default')
    const lost: { scope?: string } = JSON.parse('{"scope":null}')
    expect(refusalOf(() => eventKey({ ...lost, source: 'a', kind: 'b', id: 'c' }))).toMatchObject({ part: 'scope' })
  })

  test('300 events without id are 300 refusals, and no shared key', () => {
    const refusals = Array.from({ length: 300 }, () => refusalOf(() => keyOf(undefined)))
    expect(new Set(refusals.map((refusal) => JSON.stringify(refusal))).size).toBe(1)
    expect(refusals).not.toContain('accepted')
  })
})

describe('an id is kept as it came', () => {
  test('IDEM-11: upper and lower case are two ids', () => {
    expect(idOf('pay_1AbCdE')).toBe('pay_1AbCdE')
    expect(idOf('pay_1aBcDe')).toBe('pay_1aBcDe')
  })

  test('IDEM-12: white space at the ends is part of it', () => {
    expect(idOf('P-12 ')).toBe('P-12 ')
    expect(idOf(' P-12')).toBe(' P-12')
  })

  test('two Unicode forms of one letter are two ids', () => {
    expect(idOf('caf\u00e9')).not.toBe(idOf('cafe\u0301'))
  })

  test('IDEM-13: all of its characters count, up to 1024 bytes', () => {
    const start = 'x'.repeat(MAX_ID_BYTES - 1)
    expect(idOf(`${start}1`)).not.toBe(idOf(`${start}2`))
    expect(idOf('\u20ac'.repeat(341))).toHaveLength(341)
  })

  test('IDEM-15: 482 random characters of a bank are taken whole', () => {
    const id = Array.from({ length: 482 }, (_, index) => String.fromCharCode(33 + ((index * 7919) % 90))).join('')
    expect(idOf(id)).toBe(id)
  })

  test('IDEM-17: an exact number is its decimal text, and a bigint holds what a number cannot', () => {
    expect(idOf(42)).toBe('42')
    expect(idOf(Number.MAX_SAFE_INTEGER)).toBe('9007199254740991')
    expect(idOf(9_007_199_254_740_993n)).toBe('9007199254740993')
    expect(idOf('9007199254740992')).toBe('9007199254740992')
  })

  test('a date, a counter and a time with more to it are no mere times', () => {
    for (const id of [
      '2026-03-02',
      '2026-03-02-001',
      '1234567890',
      '2999999999',
      '2026-03-02T10:00:00Z-7',
      '177244560',
    ]) {
      expect(idOf(id)).toBe(id)
    }
  })

  test('a source that counts with ten digits says so', () => {
    expect(keyOf('1772445600', { numericIds: true }).id).toBe('1772445600')
    expect(refusalOf(() => keyOf('2026-03-02T10:00:00Z', { numericIds: true }))).toMatchObject({ code: 'time_stamp' })
  })
})
