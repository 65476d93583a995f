/** What has to hold after a round. Judge is what was done at the target; then what the senders were told. */
import { isDeepStrictEqual } from 'node:util'

/** What a returned value means to the sender. */
export interface ReadAnswer {
  /** `done`: the sender stops. `open`: it comes again. `unknown`: it may have been done, and a person has to look. */
  readonly state: 'done' | 'open' | 'unknown'
  /** What all senders that are told `done` have to be told alike. */
  readonly told?: unknown
}

export interface Violation {
  /**
   * `effect_missing`, `effect_repeated`: the target has none, or more than one. `changed_later`: a copy that came after
   * the end changed what is at the target. `answers_differ`: two senders were told different things. `unsettled`: it
   * never came to an end. `undeclared_unknown`: it ended as unknown where it must not. `hung`: a delivery neither answered
   * nor failed.
   */
  readonly code:
    | 'effect_missing'
    | 'effect_repeated'
    | 'changed_later'
    | 'answers_differ'
    | 'unsettled'
    | 'undeclared_unknown'
    | 'hung'
  /** Index into the events of the round. */
  readonly event: number
  readonly message: string
}

/** What came to pass with one event of a round. */
export interface Judged {
  readonly event: number
  /** What the judge counted after the event had come to its end, and after the copies that came later. */
  readonly effects: number
  readonly effectsLater: number
  readonly answers: readonly ReadAnswer[]
  /** `ended`: a delivery was told an end. */
  readonly end: 'ended' | 'unsettled' | 'hung'
  readonly mayBeUnknown: boolean
  /** A fault was met, or a process died by itself. */
  readonly wasDisturbed: boolean
}

export function judgeEvent(judged: Judged): Violation[] {
  const { event, effects, effectsLater, answers, end, mayBeUnknown, wasDisturbed } = judged
  const violation = (code: Violation['code'], message: string): Violation[] => [{ code, event, message }]
  const isUnknown = answers.some(({ state }) => state === 'unknown')
  const mayBeMissing = isUnknown && mayBeUnknown
  const told = answers.filter(({ state }) => state !== 'open')
  const differing = told.find((answer) => !isDeepStrictEqual(answer, told[0]))
  return [
    ...(end === 'hung' ? violation('hung', 'a delivery neither answered nor failed in time') : []),
    ...(end === 'unsettled' ? violation('unsettled', 'no delivery was ever told that it is done') : []),
    ...(effects === 0 && !mayBeMissing ? violation('effect_missing', 'no effect at the target') : []),
    ...(effects > 1 ? violation('effect_repeated', `${effects} effects at the target`) : []),
    ...(effectsLater === effects
      ? []
      : violation('changed_later', `a later copy made ${effectsLater} effects of ${effects}`)),
    ...(differing === undefined
      ? []
      : violation('answers_differ', `told ${JSON.stringify(told[0])}, and then ${JSON.stringify(differing)}`)),
    ...(isUnknown && !mayBeUnknown
      ? violation('undeclared_unknown', 'ended as unknown, and mayBeUnknown is not set')
      : []),
    ...(isUnknown && mayBeUnknown && !wasDisturbed
      ? violation('undeclared_unknown', 'ended as unknown, and nothing had gone wrong')
      : []),
  ]
}

/**
 * Reads the outcomes of `once` and `attempt`: all copies must be told the same `target` and `answer`. Of any other handler,
 * what it returns is what it tells, and an end.
 */
export function readOutcome(returned: unknown): ReadAnswer {
  if (typeof returned !== 'object' || returned === null) return { state: 'done', told: returned }
  const { outcome, isFinal, target, answer } = returned as Record<string, unknown>
  switch (outcome) {
    case 'in_progress':
    case 'lost':
      return { state: 'open' }
    case 'unknown':
      return { state: 'unknown' }
    case 'failed':
      return { state: isFinal === false ? 'open' : 'done', told: 'failed' }
    case 'done':
    case 'duplicate':
      return { state: 'done', told: { target, answer } }
    default:
      return { state: 'done', told: returned }
  }
}
