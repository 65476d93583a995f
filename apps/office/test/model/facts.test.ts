import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { PooledOrganization } from '../support/organization-pool.ts'
import { audit, partsOf } from './auditor.ts'
import { type Course, course, type FactPlan, factPlan, inOrder, inRounds, numberOf, tellingsOf } from './fact-plan.ts'
import { allEnded, createField } from './field.ts'
import type { Ledger } from './ledger.ts'
import { announcement, checkShard, MODEL_TIMEOUT_MS, shards } from './model-runs.ts'
import { type IssuedInvoice, keyOf, movementKey, type Sums, sumFacts } from './sum-of-facts.ts'
import { requestOf, type Telling, type ToldFact } from './tellings.ts'

/**
 * Facts alone: what sources tell, and that invoices are issued. Their result may depend on nothing but their set, so it is
 * compared with a sum that knows no order, after every round, in two courses of the same set.
 */
const field = createField(announcement('facts'))

const everyShard = test.concurrent.each(shards)
everyShard(
  'every order, repetition and interleaving of the same facts, over two processes, ends in what their set adds up to (%s)',
  { timeout: MODEL_TIMEOUT_MS },
  (shard) =>
    checkShard('facts', shard, fc.record({ plan: factPlan, one: course, other: course }), ({ plan, one, other }) =>
      field.pool.use(2, async ([first, second]) => {
        if (first === undefined || second === undefined) throw new Error('two organisations were asked for')
        await allEnded([playFacts(first, plan, one), playFacts(second, plan, other)])
      }),
    ),
)

/** What happens in a course: the next draft is issued, or a source tells something. */
type Step = 'issue' | Telling

/** Plays one course of the plan's facts, and compares after every round. */
async function playFacts(organization: PooledOrganization, plan: FactPlan, taken: Course): Promise<void> {
  const { organizationId } = organization
  const ids = await field.writeInvoices(organizationId, plan.invoices)
  const invoices = plan.invoices.map((invoice, index) => ({
    ...invoice,
    id: ids[index] ?? '',
    number: numberOf(index),
  }))
  const told: ToldFact[] = []
  const log: string[] = []
  let issued = 0
  let issuing: Promise<void> = Promise.resolve()

  // One after the other, so that each gets the number that payments may name; all else goes on meanwhile.
  function issueNext(server: number): Promise<void> {
    issuing = issuing.then(async () => {
      const headers = { authorization: `Bearer ${organization.apiKey}` }
      const path = `/api/v1/invoices/${ids[issued]}/issue`
      const answer = await field.send(server, { path, headers, body: '' })
      expect(answer, 'the answer to an issue').toMatchObject({ status: 200, body: { number: numberOf(issued) } })
      issued += 1
    })
    return issuing
  }

  async function take(step: Step, server: number): Promise<void> {
    if (step === 'issue') return issueNext(server)
    const answer = await field.send(server, requestOf(organization, step))
    expect(answer.status, `the answer to: ${step.words}`).toBe(200)
    expect(answer.body, `the answer to: ${step.words}`).not.toHaveProperty('kept')
    told.push(...step.facts)
  }

  const rounds = inRounds(stepsOf(plan, ids, taken), taken.widths)
  for (const [index, round] of rounds.entries()) {
    log.push(`round ${index + 1}: ${round.map(toWords).join(' | ')}`)
    try {
      await allEnded(round.map((step, at) => take(step, taken.first + at)))
      const ledger = await field.ledgerOf(organizationId)
      const known = { invoices, issued, sums: sumFacts(told, invoices.slice(0, issued)) }
      const problems = [...compare(ledger, known), ...audit(ledger)]
      if (index === rounds.length - 1) problems.push(...(await field.diagnose(organizationId)))
      if (problems.length > 0) throw new Error(problems.join('\n'))
    } catch (error) {
      throw new Error([...log, String(error)].join('\n'))
    }
  }
}

function stepsOf(plan: FactPlan, ids: readonly string[], { repeated, order }: Course): Step[] {
  const tellings = tellingsOf(plan, ids)
  const copies = repeated.flatMap((pick) => tellings[pick % tellings.length] ?? [])
  return inOrder<Step>([...ids.map(() => 'issue' as const), ...tellings, ...copies], order)
}

function toWords(step: Step): string {
  return step === 'issue' ? 'issue the next draft' : `${step.source}: ${step.words}`
}

interface Known {
  readonly invoices: readonly IssuedInvoice[]
  readonly issued: number
  readonly sums: Sums
}

/** Where the ledger differs from what the set of facts adds up to. */
function compare(ledger: Ledger, { invoices, issued, sums }: Known): string[] {
  const payments = new Map(
    ledger.payments.map(({ amount, currency, returned, ...name }) => [keyOf(name), { amount, currency, returned }]),
  )
  const paid = new Map(ledger.invoices.map((invoice) => [invoice.id, invoice.paid]))
  const byCurrency = new Map([...partsOf(ledger)].filter(([, { received }]) => received > 0))
  const expectedPaid = new Map(invoices.map(({ id }) => [id, sums.paid.get(id) ?? 0]))
  return [
    ...differences('payments', sums.payments, payments),
    ...differences('paid', expectedPaid, paid),
    ...differences('sums', sums.byCurrency, byCurrency),
    ...differences('returns', [...sums.returns].toSorted(), ledger.returns.map(movementKey).toSorted()),
    ...differences('issued', issued, ledger.invoices.filter(({ lifecycle }) => lifecycle === 'issued').length),
  ]
}

function differences(what: string, expected: unknown, found: unknown): string[] {
  const [wanted, got] = [expected, found].map(toSortedText)
  return wanted === got ? [] : [`${what}: the facts add up to ${wanted}, and the ledger has ${got}`]
}

function toSortedText(value: unknown): string {
  return JSON.stringify(value instanceof Map ? [...value].toSorted(([a], [b]) => (a < b ? -1 : 1)) : value)
}
