/** What is done to every peer, and how it is judged: by the target that counts, then by what the callers were told. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Child } from './child.ts'
import type { Answer, Event, PeerName, Settings, TargetKind } from './peer.ts'
import type { Faults, Point } from './work.ts'

/**
 * `holds` and `asks a person` are sound: the event is done once and its copies get its answer, or it is marked as one of
 * which nobody knows. `not offered`: the peer does not claim it, and the note says what happened all the same.
 */
export const verdicts = [
  'holds',
  'asks a person',
  'not offered',
  'stuck',
  'never done',
  'wrong answer',
  'done twice',
] as const
export type Verdict = (typeof verdicts)[number]

export interface Finding {
  readonly verdict: Verdict
  /** As the target counted; one number for each event. */
  readonly effects: string
  /** What was seen, where it is more than the verdict says. */
  readonly fact: string
}

/** A place to play one scenario with one peer at one kind of target, away from all others. */
export interface Stage {
  readonly peer: PeerName
  readonly kind: TargetKind
  /** Unique for the stage. */
  readonly name: string
  start(faults?: Faults, settings?: Partial<Settings>): Promise<Child>
  effects(reference: string): Promise<number>
  /** The target does the next request and cuts the connection. */
  loseAnswer(): void
}

export interface Scenario {
  readonly name: string
  readonly title: string
  /** Default all. */
  readonly kinds?: readonly TargetKind[]
  /** Peers that do not claim it. */
  readonly notOffered?: Partial<Record<PeerName, string>>
  /** Kinds of target at which einmal itself says that it does not hold. */
  readonly knownLimit?: readonly TargetKind[]
  run(stage: Stage): Promise<Finding>
}

const LEASE_MS = 1_500
const LIMIT_MS = 6_000
const AWAY_MS = 1_500
const CALLERS = 16
const PROCESSES = 4

function eventOf(stage: Stage, more: Partial<Event> = {}): Event {
  const id = `evt-${stage.name}`
  return { tenant: 'acme', source: 'shop', id, amount: 100, reference: id, ...more }
}

/** Comes again, as a sender does, until there is an answer that is final; at most so long. */
async function settle(child: Child, event: Event): Promise<Answer> {
  const endsAt = performance.now() + LIMIT_MS
  let last: Answer = { kind: 'told', word: 'in_progress', message: 'no answer' }
  while (performance.now() < endsAt) {
    const late = delay(endsAt - performance.now()).then(() => null)
    const answer = await Promise.race([child.call(event), late])
    if (answer === null) return last
    last = answer
    if (last.kind === 'answered' || ['conflict', 'unknown', 'refused'].includes(last.word)) return last
    await delay(200)
  }
  return last
}

/** One event that came several times: what the last one was told, against what was done. */
async function conclude(stage: Stage, last: Answer, reference = eventOf(stage).reference): Promise<Finding> {
  const effects = await stage.effects(reference)
  const found = (verdict: Verdict, fact = ''): Finding => ({ verdict, effects: String(effects), fact })
  if (effects > 1) return found('done twice')
  if (last.kind === 'answered') {
    return effects === 1 ? found('holds') : found('wrong answer', 'told that it was done, and nothing was')
  }
  const done = effects === 1 ? 'it was done' : 'nothing was done'
  switch (last.word) {
    case 'unknown':
      return found('asks a person', `marked as unknown; ${done}`)
    case 'in_progress':
    case 'lost':
      return found('stuck', `still “in progress” after ${LIMIT_MS / 1000} s; ${done}`)
    case 'conflict':
    case 'refused':
      return found('wrong answer', `the same event again is told “${last.word}”`)
    case 'failed':
      if (effects === 0) return found('never done', 'every copy is told the first failure again')
      // Nobody can find out there: an error that stays is as good as saying so.
      if (stage.kind === 'neither') return found('asks a person', 'every copy is told the first error again')
      return found('wrong answer', 'every copy is told that it failed, and it was done')
  }
}

async function repetition(stage: Stage): Promise<Finding> {
  const child = await stage.start()
  const answers: Answer[] = []
  for (let count = 0; count < 3; count += 1) answers.push(await settle(child, eventOf(stage)))
  const numbers = new Set(answers.map((answer) => (answer.kind === 'answered' ? answer.number : 'none')))
  const finding = await conclude(stage, answers[2] as Answer)
  return finding.verdict === 'holds' && numbers.size > 1
    ? { ...finding, verdict: 'wrong answer', fact: 'the copies are told other answers' }
    : finding
}

async function burst(stage: Stage): Promise<Finding> {
  const children = await Promise.all(Array.from({ length: PROCESSES }, () => stage.start()))
  const calls = Array.from({ length: CALLERS }, (_, index) =>
    settle(children[index % PROCESSES] as Child, eventOf(stage)),
  )
  const answers = await Promise.all(calls)
  const open = answers.find((answer) => answer.kind === 'told')
  return conclude(stage, open ?? (answers[0] as Answer))
}

function crashAt(point: Point) {
  return async (stage: Stage): Promise<Finding> => {
    const place = { executor: stage.name }
    const first = await stage.start({ at: { point, signal: 'SIGKILL' } }, place)
    await first.call(eventOf(stage))
    const second = await stage.start({}, place)
    return conclude(stage, await settle(second, eventOf(stage)))
  }
}

async function lostAnswer(stage: Stage): Promise<Finding> {
  const child = await stage.start()
  stage.loseAnswer()
  await child.call(eventOf(stage))
  return conclude(stage, await settle(child, eventOf(stage)))
}

/** A is stopped past its lease, B takes over where the peer lets it; then A goes on, and C asks how it stands. */
function zombieAt(point: Point, ending: 'success' | 'error') {
  return async (stage: Stage): Promise<Finding> => {
    // A replacement has the name of the process that is held for dead.
    const place = { executor: stage.name }
    const a = await stage.start({ at: { point, signal: 'SIGSTOP' }, isLateError: ending === 'error' }, place)
    const toldToA = a.call(eventOf(stage))
    await a.stopped
    await delay(LEASE_MS + 500)
    const b = await stage.start({}, place)
    const toldToB = await settle(b, eventOf(stage))
    a.resume()
    await Promise.race([toldToA, delay(LIMIT_MS)])
    // A caller may be told before the late request has arrived, and it counts.
    await delay(1_000)
    const toldToC = await settle(b, eventOf(stage))
    const finding = await conclude(stage, toldToC)
    const isReplaced = toldToB.kind === 'answered' && toldToC.kind === 'answered' && toldToB.number !== toldToC.number
    if (finding.verdict === 'holds' && isReplaced) {
      return { ...finding, verdict: 'wrong answer', fact: 'the late one replaced the answer on record' }
    }
    const isWaiting = finding.verdict === 'holds' && toldToB.kind === 'told'
    return isWaiting ? { ...finding, fact: 'nobody takes over while the first is stopped' } : finding
  }
}

async function otherContent(stage: Stage): Promise<Finding> {
  const settings = { isContentCompared: true, leaseMs: 60_000 }
  const event = eventOf(stage)
  const other = { ...event, amount: 900, reference: `${event.reference}-other` }
  const a = await stage.start({ at: { point: 'begun', signal: 'SIGSTOP' } }, settings)
  const b = await stage.start({}, settings)
  const toldToA = a.call(event)
  await a.stopped
  const early = b.call(other)
  await delay(600)
  a.resume()
  await toldToA
  const whileRunning = await Promise.race([early, delay(LIMIT_MS).then(() => null)])
  const afterwards = await settle(b, other)
  const same = await settle(b, event)
  const [effects, others] = [await stage.effects(event.reference), await stage.effects(other.reference)]
  const found = (verdict: Verdict, fact = ''): Finding => ({ verdict, effects: `${effects}+${others}`, fact })
  if (effects > 1 || others > 0) return found('done twice', 'the other amount was done under the same key')
  if (whileRunning?.kind === 'answered') return found('wrong answer', 'the other amount gets the old answer')
  if (afterwards.kind === 'answered') return found('wrong answer', 'the other amount gets the old answer afterwards')
  if (same.kind !== 'answered') return found('wrong answer', `the same content again is told “${same.word}”`)
  return found('holds')
}

const poisons = [
  { name: 'absent', id: {} },
  { name: 'empty', id: { id: '' } },
  { name: '`undefined`', id: { id: 'undefined' } },
]

/** Two different events and a copy under what is no key. */
async function poisonedKeys(stage: Stage): Promise<Finding> {
  const child = await stage.start()
  const merged: string[] = []
  const unprotected: string[] = []
  const counts: number[] = []
  for (const { name, id } of poisons) {
    const { id: _, ...rest } = eventOf(stage, { source: `shop-${stage.name}` })
    const events = [1, 2].map((amount) => ({ ...rest, ...id, amount, reference: `${stage.name}-${name}-${amount}` }))
    const [first, second] = events as [Event, Event]
    await child.call(first)
    const answer = await child.call(second)
    await child.call(first)
    const [ones, twos] = [await stage.effects(first.reference), await stage.effects(second.reference)]
    counts.push(ones + twos)
    if (ones > 1) unprotected.push(name)
    else if (ones === 1 && twos === 0 && answer.kind === 'answered') merged.push(name)
  }
  const found = (verdict: Verdict, fact = ''): Finding => ({ verdict, effects: counts.join('+'), fact })
  if (unprotected.length > 0) return found('done twice', `${unprotected.join(', ')}: runs without protection`)
  if (merged.length > 0) return found('wrong answer', `${merged.join(', ')}: two different events become one`)
  return found('holds')
}

async function compositeKeys(stage: Stage): Promise<Finding> {
  const child = await stage.start()
  const [left, right, tenant] = ['left', 'right', 'tenant'].map((name) => `${stage.name}-${name}`) as [
    string,
    string,
    string,
  ]
  const events = [
    eventOf(stage, { source: 'a:b', id: `c-${stage.name}`, reference: left }),
    eventOf(stage, { source: 'a', id: `b:c-${stage.name}`, reference: right }),
    eventOf(stage, { source: 'a', id: `b:c-${stage.name}`, reference: tenant, tenant: 'beta' }),
  ]
  for (const event of events) await settle(child, event)
  const counts = await Promise.all([left, right, tenant].map((reference) => stage.effects(reference)))
  const found = (verdict: Verdict, fact = ''): Finding => ({ verdict, effects: counts.join('+'), fact })
  if (counts[1] === 0) return found('wrong answer', '`a` + `b:c` gets the answer of `a:b` + `c` and is never done')
  if (counts[2] === 0) return found('wrong answer', 'one tenant gets the answer of another')
  return counts.every((count) => count === 1) ? found('holds') : found('done twice')
}

async function afterExpiry(stage: Stage): Promise<Finding> {
  const child = await stage.start({}, { keepMs: 1_000 })
  await settle(child, eventOf(stage))
  await delay(2_500)
  await child.forget(eventOf(stage).tenant)
  const last = await settle(child, eventOf(stage))
  const finding = await conclude(stage, last)
  const isRemembered = finding.verdict === 'holds' && last.kind === 'answered' && last.number === null
  return isRemembered ? { ...finding, fact: 'the row was purged, and its 32 bytes know the key' } : finding
}

/** No copy may succeed behind the back of a caller who was told that it failed; the next call may. */
async function awayTarget(stage: Stage): Promise<Finding> {
  const child = await stage.start({ awayMs: AWAY_MS })
  const first = await child.call(eventOf(stage))
  await delay(AWAY_MS + 500)
  const isToldFailed = first.kind === 'told' && first.word === 'failed'
  if (isToldFailed && (await stage.effects(eventOf(stage).reference)) > 0) {
    return { verdict: 'wrong answer', effects: '1', fact: 'told that it failed, and it was done afterwards' }
  }
  return conclude(stage, await settle(child, eventOf(stage)))
}

const composing = 'one string is the key, and the bench composes it as JSON'

export const scenarios: readonly Scenario[] = [
  { name: 'repetition', title: 'the same again, three times', run: repetition },
  { name: 'burst', title: `${CALLERS} at once from ${PROCESSES} processes`, run: burst },
  { name: 'crash-before', title: 'crash before the effect', run: crashAt('begun') },
  { name: 'crash-after', title: 'crash after the effect, before its record', run: crashAt('acted') },
  {
    name: 'lost-answer',
    title: 'the target’s answer is lost',
    kinds: ['accepts_key', 'searchable', 'neither'],
    run: lostAnswer,
  },
  { name: 'zombie-success', title: 'stopped after the effect, late success', run: zombieAt('acted', 'success') },
  { name: 'zombie-error', title: 'stopped after the effect, late error', run: zombieAt('acted', 'error') },
  { name: 'zombie-before', title: 'stopped before the effect', run: zombieAt('begun', 'success') },
  {
    name: 'zombie-checked',
    title: 'stopped between the last look and the request',
    knownLimit: ['searchable'],
    run: zombieAt('checked', 'success'),
  },
  {
    name: 'content',
    title: 'same key, other amount: while running, and after',
    notOffered: { 'by-hand': 'no content on record', dbos: 'arguments are not compared' },
    run: otherContent,
  },
  {
    name: 'poisoned',
    title: 'no key: absent, empty, the text `undefined`',
    notOffered: { 'by-hand': 'only a null is refused', dbos: composing },
    run: poisonedKeys,
  },
  {
    name: 'composite',
    title: '`a:b` + `c`, `a` + `b:c`, other tenant',
    notOffered: { dbos: composing },
    run: compositeKeys,
  },
  { name: 'expiry', title: 'a copy after the expiry', run: afterExpiry },
  { name: 'away', title: `the target is away for ${AWAY_MS / 1000} s, nothing was sent`, run: awayTarget },
]

export const defaultSettings = { leaseMs: LEASE_MS, keepMs: 86_400_000, isContentCompared: false }
