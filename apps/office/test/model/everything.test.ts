import { expect, test } from 'vitest'
import type { PostedAnswer } from '../support/keep-alive-client.ts'
import type { PooledOrganization } from '../support/organization-pool.ts'
import { audit } from './auditor.ts'
import { type EverythingPlan, everythingPlan } from './everything-plan.ts'
import { type Done, explain, isRefusal, type KnownEvents } from './explain.ts'
import { allEnded, createField } from './field.ts'
import type { Ledger } from './ledger.ts'
import { announcement, checkShard, MODEL_TIMEOUT_MS, shards } from './model-runs.ts'
import { type Prepared, prepare, type Scene } from './requests.ts'

/**
 * Whatever sources tell and people do, at the same time and again: after every round the auditor and the doctor are content,
 * some order of the round's steps explains every balance and every answer, and a repetition leaves no trace.
 */
const field = createField(announcement('everything'))

const everyShard = test.concurrent.each(shards)
everyShard(
  'whatever sources tell and people do, on two processes at once and again, the books add up after every round and repetitions change nothing (%s)',
  { timeout: MODEL_TIMEOUT_MS },
  (shard) =>
    checkShard('everything', shard, everythingPlan, (plan) =>
      field.pool.use(1, async ([organization]) => {
        if (organization === undefined) throw new Error('an organisation was asked for')
        const log: string[] = []
        try {
          await play(organization, plan, log)
        } catch (error) {
          throw new Error([...log, String(error)].join('\n'))
        }
      }),
    ),
)

type Round = EverythingPlan['rounds'][number]

/** A step with its answer, and who was asked. */
interface Sent extends Done {
  readonly server: number
}

async function play(organization: PooledOrganization, plan: EverythingPlan, log: string[]): Promise<void> {
  const { organizationId } = organization
  const invoiceIds = await field.writeInvoices(organizationId, plan.invoices)
  const accepted = new Map<Prepared, Sent>()
  let events: KnownEvents = new Map()
  let ledger = await field.ledgerOf(organizationId)

  for (const [index, round] of [openingOf(plan), ...plan.rounds].entries()) {
    const scene = { organization, plan, invoiceIds, ledger, accepted: [...accepted.keys()] }
    const outgoing = prepareRound(scene, round, plan.first + index)
    if (outgoing.length === 0) continue
    const sent = await sendRound(outgoing, index, log)
    const before = ledger
    ledger = await field.ledgerOf(organizationId)
    const problems = [...audit(ledger), ...sent.flatMap(checkAnswer), ...checkRepetitions(sent, accepted)]
    // Of books that are as they were, the doctor has nothing new to say.
    if (ledger.digest !== before.digest) problems.push(...(await field.diagnose(organizationId)))
    const effective = withoutCopies(sent, accepted)
    const explained = explain(before, ledger, effective, events)
    events = explained.events
    problems.push(...explained.problems)
    if (effective.every(({ answer }) => isRefusal(answer)) && ledger.digest !== before.digest) {
      problems.push('nothing but refusals and copies, and something has changed')
    }
    if (problems.length > 0) throw new Error(problems.join('\n'))
    for (const each of effective) if (!isRefusal(each.answer)) accepted.set(each.prepared, each)
  }
  await repeatQuietly(organizationId, plan, [...accepted.values()], ledger, log)
}

/** The first event of each payment that shall be there before all else. */
function openingOf({ payments }: EverythingPlan): Round {
  return payments.flatMap(({ isThere }, payment) => {
    const step = { do: 'tell payment', payment, nth: 0, isContradiction: false } as const
    return isThere ? [{ step, isTwice: false }] : []
  })
}

interface Outgoing {
  readonly prepared: Prepared
  readonly server: number
}

function prepareRound(scene: Scene, round: Round, first: number): Outgoing[] {
  const all = round.flatMap(({ step, isTwice }): Prepared[] => {
    const prepared = prepare(scene, step)
    if (prepared === null) return []
    return isTwice ? [prepared, prepared] : [prepared]
  })
  return all.map((prepared, at) => ({ prepared, server: (first + at) % 2 }))
}

/** Sends all of them at once. The log names them also where one of them gets no answer. */
async function sendRound(outgoing: readonly Outgoing[], index: number, log: string[]): Promise<Sent[]> {
  const at = log.push(`round ${index}:`, ...outgoing.map((each) => `  ${toSender(each)}`)) - outgoing.length
  const sent = await allEnded(
    outgoing.map(async (each) => ({ ...each, answer: await field.send(each.server, each.prepared.request) })),
  )
  log.splice(at, sent.length, ...sent.map((each) => `  ${toSender(each)}${toAnswer(each)}`))
  return sent
}

function toSender({ server, prepared }: Outgoing): string {
  return `${server === 0 ? 'A' : 'B'}: ${prepared.words}`
}

function toAnswer({ answer }: Sent): string {
  const { status, body } = answer
  const { amountMinor } = (body['applied'] ?? {}) as { amountMinor?: number }
  const applied = amountMinor === undefined ? '' : ` applied ${amountMinor}`
  const why = ['code', 'reason', 'duplicate'].flatMap((name) => (body[name] ? [` ${name} ${body[name]}`] : []))
  return ` → ${status}${applied}${why.join('')}${isReplay(answer) ? ' (again)' : ''}`
}

/** A source is never refused, and a person only for a reason. */
function checkAnswer({ prepared, answer }: Sent): string[] {
  const { status } = answer
  const isSound = status === 200 || status === 201 || (prepared.isAct && isRefusal(answer))
  return isSound ? [] : [`${prepared.words}: answered with ${status} ${JSON.stringify(answer.body)}`]
}

function isReplay({ headers }: PostedAnswer): boolean {
  return headers['idempotent-replayed'] === 'true'
}

/** A person's act is answered once: who sends it again gets that answer again. */
function checkRepetitions(sent: readonly Sent[], accepted: ReadonlyMap<Prepared, Sent>): string[] {
  const done = sent.filter(({ prepared, answer }) => prepared.isAct && !isRefusal(answer))
  return [...Map.groupBy(done, (each) => each.prepared)].flatMap(([prepared, group]) => {
    const first = accepted.get(prepared)
    const bodies = new Set(
      [first, ...group].flatMap((each) => (each === undefined ? [] : JSON.stringify(each.answer.body))),
    )
    const isAnew = first !== undefined && group.some(({ answer }) => !isReplay(answer))
    return bodies.size === 1 && !isAnew ? [] : [`${prepared.words}: sent again, it was answered anew`]
  })
}

/** Those that may have changed something: of one request sent several times, the one that did. */
function withoutCopies(sent: readonly Sent[], accepted: ReadonlyMap<Prepared, Sent>): Sent[] {
  const rest: Sent[] = []
  for (const [prepared, group] of Map.groupBy(sent, (each) => each.prepared)) {
    if (accepted.has(prepared)) continue
    const done = group.find(({ answer }) => !isRefusal(answer) && !isReplay(answer))
    rest.push(...(done === undefined ? group : [done]))
  }
  return rest
}

/** Sends some of what was accepted again, to the other process, when all else is quiet. */
async function repeatQuietly(
  organizationId: string,
  { repeated }: EverythingPlan,
  accepted: readonly Sent[],
  before: Ledger,
  log: string[],
): Promise<void> {
  const chosen = [...new Set(repeated.flatMap((pick) => accepted[pick % accepted.length] ?? []))]
  if (chosen.length === 0) return
  const answers = await allEnded(chosen.map(({ prepared, server }) => field.send(server + 1, prepared.request)))
  log.push('again, when all is quiet:', ...chosen.map(({ prepared }) => `  ${prepared.words}`))
  const after = await field.ledgerOf(organizationId)
  for (const [index, { prepared, answer }] of chosen.entries()) {
    const again = answers[index]
    if (prepared.isAct) {
      expect(again, prepared.words).toMatchObject({ status: answer.status, body: answer.body })
      expect(again?.headers, prepared.words).toMatchObject({ 'idempotent-replayed': 'true' })
    } else expect(again?.status, prepared.words).toBe(200)
  }
  const webhooks = chosen.filter(({ prepared }) => !prepared.isAct).length
  expect(after.copies, 'arrivals in the register').toBe(before.copies + chosen.length)
  expect(after.deliveries, 'deliveries on record').toBe(before.deliveries + webhooks)
  if (after.digest !== before.digest) throw new Error('a repetition has changed something')
  const findings = await field.diagnose(organizationId)
  if (findings.length > 0) throw new Error(findings.join('\n'))
}
