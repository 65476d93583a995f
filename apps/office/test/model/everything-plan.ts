import fc from 'fast-check'
import { amounts, often, type PlannedInvoice, plannedInvoice, rarely, usualCurrency } from './fact-plan.ts'
import { type Currency, type Source, sources } from './tellings.ts'

/**
 * Everything that can happen to money, by sources and by people. Picks are numbers: which payment, refund or question is meant
 * is looked up when the round begins, among those that are there.
 */
export type PlannedStep =
  | { readonly do: 'tell payment'; readonly payment: number; readonly nth: number; readonly isContradiction: boolean }
  | { readonly do: 'record payment'; readonly payment: number }
  | {
      readonly do: 'tell refund'
      readonly payment: number
      readonly refund: number
      readonly nth: number
      readonly amount: number
      readonly hasFailed: boolean
    }
  | { readonly do: 'tell total'; readonly payment: number; readonly amount: number }
  | { readonly do: 'tell dispute'; readonly payment: number; readonly upTo: number }
  | { readonly do: 'issue' | 'void'; readonly invoice: number }
  | { readonly do: 'pay' | 'credit' | 'adjust'; readonly invoice: number; readonly amount: number | null }
  | { readonly do: 'unadjust'; readonly pick: number }
  | { readonly do: 'apply'; readonly pick: number; readonly invoice: number; readonly amount: number | null }
  | { readonly do: 'move'; readonly pick: number; readonly from: number | null; readonly to: number }
  | {
      readonly do: 'return'
      readonly kind: 'refund' | 'chargeback'
      readonly pick: number
      readonly amount: number | null
      /** The source's own name of the refund, which it may tell of as well. */
      readonly refund: number | null
    }
  | { readonly do: 'reverse'; readonly pick: number }
  | { readonly do: 'decide'; readonly pick: number; readonly isDismissed: boolean; readonly invoice: number }
  | { readonly do: 'again'; readonly pick: number }

/** A payment that sources may tell of, and a dispute of it. */
export interface PlannedMoney {
  readonly source: Source
  readonly amount: number
  readonly currency: Currency
  /** Whether its first event is told before all else, so that there is something to act on. */
  readonly isThere: boolean
  /** Which invoice it names, if any. */
  readonly invoice: number | null
  readonly isNamedLater: boolean
  /** Of its dispute: withdrawn, reinstated, and so on. */
  readonly movements: readonly number[]
}

/** What is sent, round by round. */
export interface EverythingPlan {
  readonly invoices: readonly (PlannedInvoice & { readonly isIssued: boolean })[]
  readonly payments: readonly PlannedMoney[]
  /** Steps of a round run at the same time, on both processes. Twice: the same request goes to both at once. */
  readonly rounds: readonly (readonly { readonly step: PlannedStep; readonly isTwice: boolean }[])[]
  /** Which process is asked first. */
  readonly first: number
  /** What is repeated in the end, at the other process, when all is quiet. */
  readonly repeated: readonly number[]
}

const pick = fc.nat({ max: 7 })
const invoice = fc.nat({ max: 2 })
const payment = fc.nat({ max: 2 })
const someAmount: fc.Arbitrary<number | null> = fc.option(amounts, { freq: 2 })
const kinds = ['refund', 'chargeback'] as const
const someRefund: fc.Arbitrary<number | null> = fc.option(fc.nat({ max: 1 }), { freq: 1 })
const someInvoice: fc.Arbitrary<number | null> = fc.option(invoice, { freq: 2 })

function step<Do extends PlannedStep['do'], Rest extends object>(
  name: Do,
  rest: { [K in keyof Rest]: fc.Arbitrary<Rest[K]> },
): fc.Arbitrary<{ readonly do: Do } & Rest> {
  return fc.record({ do: fc.constant(name), ...rest }) as fc.Arbitrary<{ readonly do: Do } & Rest>
}

const plannedStep: fc.Arbitrary<PlannedStep> = fc.oneof(
  {
    arbitrary: step('tell payment', { payment, nth: fc.nat({ max: 1 }), isContradiction: rarely(7) }),
    weight: 9,
  },
  { arbitrary: step('record payment', { payment }), weight: 1 },
  {
    arbitrary: step('tell refund', {
      payment,
      refund: fc.nat({ max: 1 }),
      nth: fc.nat({ max: 1 }),
      amount: amounts,
      hasFailed: rarely(2),
    }),
    weight: 4,
  },
  { arbitrary: step('tell total', { payment, amount: amounts }), weight: 1 },
  { arbitrary: step('tell dispute', { payment, upTo: fc.nat({ max: 3 }) }), weight: 2 },
  { arbitrary: step('issue', { invoice }), weight: 2 },
  { arbitrary: step('void', { invoice }), weight: 1 },
  { arbitrary: step('pay', { invoice, amount: someAmount }), weight: 3 },
  { arbitrary: step('credit', { invoice, amount: someAmount }), weight: 3 },
  { arbitrary: step('adjust', { invoice, amount: someAmount }), weight: 2 },
  { arbitrary: step('unadjust', { pick }), weight: 2 },
  { arbitrary: step('apply', { pick, invoice, amount: someAmount }), weight: 3 },
  { arbitrary: step('move', { pick, from: someInvoice, to: invoice }), weight: 4 },
  {
    arbitrary: step('return', { kind: fc.constantFrom(...kinds), pick, amount: someAmount, refund: someRefund }),
    weight: 3,
  },
  { arbitrary: step('reverse', { pick }), weight: 2 },
  { arbitrary: step('decide', { pick, isDismissed: rarely(3), invoice }), weight: 3 },
  { arbitrary: step('again', { pick }), weight: 2 },
)

const round = fc.array(fc.record({ step: plannedStep, isTwice: rarely(7) }), {
  minLength: 1,
  maxLength: 4,
  size: 'max',
})

const plannedMoney: fc.Arbitrary<PlannedMoney> = fc.record({
  source: fc.constantFrom(...sources),
  amount: amounts,
  currency: usualCurrency,
  isThere: often(2),
  invoice: fc.option(invoice, { freq: 8 }),
  isNamedLater: rarely(3),
  movements: fc.array(amounts, { minLength: 1, maxLength: 4, size: 'max' }),
})

export const everythingPlan: fc.Arbitrary<EverythingPlan> = fc.record({
  invoices: fc.array(fc.record({ ...plannedInvoice, isIssued: often(3) }), {
    minLength: 1,
    maxLength: 3,
    size: 'max',
  }),
  payments: fc.array(plannedMoney, { minLength: 1, maxLength: 3, size: 'max' }),
  rounds: fc.array(round, { minLength: 1, maxLength: 3, size: 'max' }),
  first: fc.nat({ max: 1 }),
  repeated: fc.array(pick, { maxLength: 2, size: 'max' }),
})
