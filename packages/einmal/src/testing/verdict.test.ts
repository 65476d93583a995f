import { describe, expect, test } from 'vitest'
import { type Judged, judgeEvent, readOutcome, type Violation } from './verdict.ts'

const sound: Judged = {
  ...{ event: 0, effects: 1, effectsLater: 1, mayBeUnknown: false, wasDisturbed: true },
  answers: [{ state: 'done', told: 'booked' }],
  end: 'ended',
}

const unknown: Judged = { ...sound, answers: [{ state: 'unknown' }], mayBeUnknown: true }

function codesOf(judged: Judged): Violation['code'][] {
  return judgeEvent(judged).map(({ code }) => code)
}

describe('an event holds', () => {
  test.each<[string, Judged]>([
    ['with one effect, and all told the same', sound],
    ['with answers that are no end between', { ...sound, answers: [{ state: 'open' }, ...sound.answers] }],
    ['as unknown with one effect, where that is declared', unknown],
    ['as unknown without effect, where that is declared', { ...unknown, effects: 0, effectsLater: 0 }],
  ])('%s', (_how, judged) => {
    expect(codesOf(judged)).toEqual([])
  })
})

describe('an event does not hold', () => {
  test.each<[Violation['code'], string, Judged]>([
    ['effect_missing', 'without an effect', { ...sound, effects: 0, effectsLater: 0 }],
    ['effect_repeated', 'with two effects', { ...sound, effects: 2, effectsLater: 2 }],
    ['effect_repeated', 'as unknown with two effects', { ...unknown, effects: 2, effectsLater: 2 }],
    ['changed_later', 'where a later copy does it again', { ...sound, effectsLater: 2 }],
    ['changed_later', 'where a later copy takes it away', { ...sound, effectsLater: 0 }],
    ['answers_differ', 'told two things', { ...sound, answers: [...sound.answers, { state: 'done', told: 'new' }] }],
    ['answers_differ', 'told done and unknown', { ...unknown, answers: [...sound.answers, ...unknown.answers] }],
    ['unsettled', 'that nobody was told the end of', { ...sound, answers: [], end: 'unsettled' }],
    ['hung', 'of which a delivery never ended', { ...sound, end: 'hung' }],
    ['undeclared_unknown', 'as unknown where that is not declared', { ...unknown, mayBeUnknown: false }],
    ['undeclared_unknown', 'as unknown where nothing went wrong', { ...unknown, wasDisturbed: false }],
  ])('%s: %s', (code, _how, judged) => {
    expect(codesOf(judged)).toEqual([code])
  })

  test('unknown is no excuse for a missing effect where it is not declared', () => {
    const judged = { ...unknown, mayBeUnknown: false, effects: 0, effectsLater: 0 }
    expect(codesOf(judged)).toEqual(['effect_missing', 'undeclared_unknown'])
  })
})

describe('an outcome of the library', () => {
  const told = { target: { type: 'payment', id: '1' }, answer: { number: 7 } }

  test('tells the first and the copy the same, whatever their counts', () => {
    const first = readOutcome({ outcome: 'done', attempt: 2, copies: 1, ...told })
    expect(first).toEqual({ state: 'done', told })
    expect(readOutcome({ outcome: 'duplicate', attempt: 1, copies: 9, ...told })).toEqual(first)
  })

  test.each([
    ['in_progress', {}, 'open'],
    ['lost', {}, 'open'],
    ['failed', { isFinal: false }, 'open'],
    ['failed', { isFinal: true }, 'done'],
    ['unknown', {}, 'unknown'],
  ])('%s %o is %s', (outcome, more, state) => {
    expect(readOutcome({ outcome, ...more })).toMatchObject({ state })
  })

  test.each([undefined, null, 'booked', 7, { status: 'ok' }])(
    'anything else, as %o, is an end and told as it is',
    (value) => {
      expect(readOutcome(value)).toEqual({ state: 'done', told: value })
    },
  )
})
