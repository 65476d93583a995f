/** Plays one plan with real processes, brings every event to its end, and judges what is at the target. */
import type { HistoryEntry } from './history.ts'
import type { Plan } from './plan.ts'
import { type Delivered, LATER_PROCESSES, openStage, type Stage, type StageOptions } from './stage.ts'
import { type Judged, judgeEvent, type ReadAnswer, type Violation } from './verdict.ts'

export interface RoundOptions<Event> extends StageOptions {
  readonly judge: (event: Event) => Promise<number>
  readonly letTimePass: (event: Event) => Promise<void>
  readonly readAnswer: (returned: unknown) => ReadAnswer
  readonly mayBeUnknown: (event: Event) => boolean
  readonly recoveryMs: number
  readonly pause: (ms: number) => Promise<void>
}

export interface Round {
  readonly plan: Plan
  readonly delivered: readonly Delivered[]
  readonly judged: readonly Judged[]
  readonly violations: readonly Violation[]
  readonly history: readonly HistoryEntry[]
}

const LONGEST_PAUSE_MS = 500

export async function playRound<Event>(
  plan: Plan,
  events: readonly Event[],
  options: RoundOptions<Event>,
): Promise<Round> {
  const { judge, letTimePass, readAnswer, mayBeUnknown, recoveryMs, pause } = options
  const stage = openStage(plan, events, options)
  await playSteps(plan, stage, (event) => letTimePass(events[event] as Event), options)

  const judged: Judged[] = []
  for (const event of new Set(plan.steps.map((step) => step.event))) {
    const named = events[event] as Event
    const ofEvent = () => stage.delivered.filter((delivery) => delivery.event === event)
    const deadline = performance.now() + recoveryMs
    for (let pauseMs = 5; !hasEnded(ofEvent(), readAnswer) && performance.now() < deadline; pauseMs *= 2) {
      await letTimePass(named)
      await stage.deliver({ event, process: stage.nextProcess() }, null)
      if (!hasEnded(ofEvent(), readAnswer)) await pause(Math.min(pauseMs, LONGEST_PAUSE_MS))
    }
    const effects = await judge(named)
    for (let count = 0; count < LATER_PROCESSES; count += 1) {
      await stage.deliver({ event, process: stage.nextProcess() }, null)
    }
    const hung = ofEvent().some(({ ending }) => ending.kind === 'died' && ending.isHung)
    judged.push({
      ...{ event, effects, effectsLater: await judge(named), mayBeUnknown: mayBeUnknown(named) },
      answers: answersOf(ofEvent(), readAnswer),
      end: hung ? 'hung' : hasEnded(ofEvent(), readAnswer) ? 'ended' : 'unsettled',
      wasDisturbed: stage.delivered.some(({ met, ending }) => met.length > 0 || ending.kind === 'died'),
    })
  }
  stage.close()
  const { delivered, history } = stage
  return { plan, delivered, judged, violations: judged.flatMap(judgeEvent), history }
}

function answersOf(delivered: readonly Delivered[], readAnswer: (returned: unknown) => ReadAnswer): ReadAnswer[] {
  return delivered.flatMap(({ ending }) => (ending.kind === 'answered' ? [readAnswer(ending.answer)] : []))
}

function hasEnded(delivered: readonly Delivered[], readAnswer: (returned: unknown) => ReadAnswer): boolean {
  return answersOf(delivered, readAnswer).some(({ state }) => state !== 'open')
}

async function playSteps(
  plan: Plan,
  stage: Stage,
  letTimePass: (event: number) => Promise<void>,
  { readAnswer, stallMs }: Pick<RoundOptions<unknown>, 'readAnswer' | 'stallMs'>,
): Promise<void> {
  if (plan.order === 'parallel') {
    const byProcess = Map.groupBy(plan.steps.entries(), ([, step]) => step.process)
    await Promise.all(byProcess.keys().map((process) => stage.prepare(process)))
    await Promise.all(
      byProcess.values().map(async (steps) => {
        for (const [index, step] of steps) await stage.deliver(step, index)
      }),
    )
    return
  }
  const stopped: Promise<Delivered>[] = []
  for (const [index, step] of plan.steps.entries()) {
    const isStopped = Promise.withResolvers<null>()
    const delivery = stage.deliver(step, index, () => isStopped.resolve(null))
    const delivered = await Promise.race([delivery, isStopped.promise])
    if (delivered === null) stopped.push(delivery)
    // Whoever had it is dead, stands still, or gave up: by the time the next one comes, its lease is over.
    if (delivered !== null && hasEnded([delivered], readAnswer)) continue
    // Who stands still may hold the row that the time is written into.
    const patience = setTimeout(stage.wake, stallMs)
    await letTimePass(step.event)
    clearTimeout(patience)
  }
  stage.wake()
  await Promise.all(stopped)
}
