import fc from 'fast-check'
import {
  type Currency,
  currencies,
  type Source,
  sources,
  type Telling,
  tellDispute,
  tellPayment,
  tellRefund,
  tellTotal,
} from './tellings.ts'

/** An invoice of a plan, as a draft. */
export interface PlannedInvoice {
  readonly total: number
  readonly currency: Currency
}

interface PlannedPayment {
  readonly source: Source
  readonly amount: number
  readonly currency: Currency
  /** Which invoice it names, by index; one that the plan does not have is unknown to the office as well. */
  readonly invoice: number | null
  readonly names: 'id' | 'number' | 'capitals'
  /** By how many events it is told; 0: only what went back of it is. */
  readonly tellings: 0 | 1 | 2
  /** Of two, only the second one names the invoice. */
  readonly isNamedLater: boolean
  readonly returns: readonly PlannedReturn[]
}

type PlannedReturn =
  | {
      readonly type: 'refund'
      readonly amount: number
      readonly tellings: 1 | 2
      /** How much of it came back, because it failed. */
      readonly fails: 'no' | 'half' | 'all'
      readonly isInOtherCurrency: boolean
    }
  | { readonly type: 'total'; readonly amount: number }
  | { readonly type: 'dispute'; readonly movements: readonly number[] }

/** Facts alone: invoices are issued, and sources tell of money. What people do is not here, for it depends on the moment. */
export interface FactPlan {
  readonly invoices: readonly PlannedInvoice[]
  readonly payments: readonly PlannedPayment[]
}

/** Small, and often equal, so that sums often just fit. */
export const amounts: fc.Arbitrary<number> = fc.oneof(
  { arbitrary: fc.constantFrom(50, 100, 200), weight: 1 },
  { arbitrary: fc.integer({ min: 1, max: 250 }), weight: 1 },
)

export const usualCurrency: fc.Arbitrary<Currency> = fc.oneof(
  { arbitrary: fc.constant('EUR' as const), weight: 5 },
  { arbitrary: fc.constantFrom(...currencies), weight: 1 },
)

export const plannedInvoice = { total: amounts, currency: usualCurrency }

/** True most of the time; made smaller, it is true as well. */
export function often(weight: number): fc.Arbitrary<boolean> {
  return fc.oneof({ arbitrary: fc.constant(true), weight }, { arbitrary: fc.constant(false), weight: 1 })
}

/** True once in a while. */
export function rarely(weight: number): fc.Arbitrary<boolean> {
  return fc.oneof({ arbitrary: fc.constant(false), weight }, { arbitrary: fc.constant(true), weight: 1 })
}

const plannedReturn: fc.Arbitrary<PlannedReturn> = fc.oneof(
  {
    arbitrary: fc.record({
      type: fc.constant('refund' as const),
      amount: amounts,
      tellings: fc.constantFrom(1 as const, 1 as const, 2 as const),
      fails: fc.constantFrom('no' as const, 'no' as const, 'all' as const, 'half' as const),
      isInOtherCurrency: rarely(12),
    }),
    weight: 4,
  },
  { arbitrary: fc.record({ type: fc.constant('total' as const), amount: amounts }), weight: 2 },
  {
    arbitrary: fc.record({
      type: fc.constant('dispute' as const),
      movements: fc.array(amounts, { minLength: 1, maxLength: 4 }),
    }),
    weight: 2,
  },
)

const plannedPayment: fc.Arbitrary<PlannedPayment> = fc.record({
  source: fc.constantFrom(...sources),
  amount: amounts,
  currency: usualCurrency,
  invoice: fc.oneof({ arbitrary: fc.nat({ max: 3 }), weight: 6 }, { arbitrary: fc.constant(null), weight: 1 }),
  names: fc.constantFrom('id' as const, 'id' as const, 'number' as const, 'number' as const, 'capitals' as const),
  tellings: fc.constantFrom(1 as const, 1 as const, 1 as const, 1 as const, 2 as const, 2 as const, 0 as const),
  isNamedLater: fc.boolean(),
  returns: fc.array(plannedReturn, { maxLength: 2 }),
})

export const factPlan: fc.Arbitrary<FactPlan> = fc.record({
  invoices: fc.array(fc.record(plannedInvoice), { minLength: 1, maxLength: 3, size: 'max' }),
  payments: fc.array(plannedPayment, { minLength: 1, maxLength: 3, size: 'max' }),
})

/** Number of the invoice that is issued as the `index`-th. */
export function numberOf(index: number): string {
  return `RE-${String(index + 1).padStart(5, '0')}`
}

/** All that is told, once each, given the ids of the drafts. */
export function tellingsOf(plan: FactPlan, invoiceIds: readonly string[]): Telling[] {
  return plan.payments.flatMap((payment, index) => {
    const { source, amount, currency, tellings, isNamedLater } = payment
    const id = `pay${index}`
    const reference = referenceOf(payment, invoiceIds)
    const paid = Array.from({ length: tellings }, (_, nth) => {
      const isNamed = tellings === 1 || nth === 1 || !isNamedLater
      return tellPayment({ source, id, amount, currency, reference: isNamed ? reference : null }, nth)
    })
    return [...paid, ...payment.returns.flatMap((each, nth) => tellReturn(payment, id, each, nth))]
  })
}

function referenceOf({ invoice, names }: PlannedPayment, invoiceIds: readonly string[]): string | null {
  if (invoice === null) return null
  const id = invoiceIds[invoice]
  if (id === undefined) return 'a number that nobody has'
  if (names === 'number') return numberOf(invoice)
  return names === 'id' ? id : id.toUpperCase()
}

function tellReturn(payment: PlannedPayment, paymentId: string, planned: PlannedReturn, nth: number): Telling[] {
  const { source, currency } = payment
  switch (planned.type) {
    case 'total':
      return [tellTotal({ source, paymentId, amount: planned.amount, currency })]
    case 'dispute': {
      const { movements } = planned
      const dispute = { source, id: `${paymentId}/dispute${nth}`, paymentId, currency, movements }
      return movements.map((_, upTo) => tellDispute(dispute, upTo))
    }
    case 'refund': {
      const { amount, fails, tellings, isInOtherCurrency } = planned
      const other = currencies.find((each) => each !== currency) ?? currency
      const money = {
        source,
        id: `${paymentId}/refund${nth}`,
        paymentId,
        currency: isInOtherCurrency ? other : currency,
      }
      const went = Array.from({ length: tellings }, (_, at) => tellRefund('refund', { ...money, amount }, at))
      if (fails === 'no') return went
      const back = fails === 'all' ? amount : Math.ceil(amount / 2)
      return [...went, tellRefund('refund_reversal', { ...money, amount: back })]
    }
  }
}

/**
 * The steps in an order that numbers decide. All zero leaves them as they are, so that a plan which shrinks ends in the
 * order in which it was written.
 */
export function inOrder<T>(steps: readonly T[], by: readonly number[]): T[] {
  const rest = [...steps]
  const order: T[] = []
  for (let at = 0; rest.length > 0; at += 1) order.push(...rest.splice((by[at % by.length] ?? 0) % rest.length, 1))
  return order
}

/** Steps that run at the same time, by widths that take turns. */
export function inRounds<T>(steps: readonly T[], widths: readonly number[]): T[][] {
  const rounds: T[][] = []
  for (let at = 0; at < steps.length; ) {
    const width = widths[rounds.length % widths.length] ?? 1
    rounds.push(steps.slice(at, at + width))
    at += width
  }
  return rounds
}

/** One course that a set of facts can take: what is told again, in which order, and how much at the same time. */
export interface Course {
  readonly repeated: readonly number[]
  readonly order: readonly number[]
  readonly widths: readonly number[]
  /** Which process is asked first. */
  readonly first: number
}

export const course: fc.Arbitrary<Course> = fc.record({
  repeated: fc.array(fc.nat({ max: 30 }), { maxLength: 2, size: 'max' }),
  order: fc.array(fc.nat({ max: 1_000 }), { minLength: 12, maxLength: 12 }),
  widths: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 3, maxLength: 3 }),
  first: fc.nat({ max: 1 }),
})
