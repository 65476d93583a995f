import type { PaymentFact } from '../../facts/index.ts'
import type { FactKind } from '../../pipeline/index.ts'
import { decidePayments, moneyKey, type PaymentRows, type PaymentsState } from './decide-payments.ts'
import {
  changePayments,
  insertMentions,
  lockInvoices,
  lockMoneySubjects,
  lockNumberSeriesShared,
  type ResolvedReference,
  readPayments,
  resolveReferences,
  writeBookings,
} from './queries.ts'

/**
 * The payments kind: the only way in which money is booked, for webhook, button, API, bank and assistant alike.
 *
 * Locks are taken in the order that all share: number series, money subjects, invoices, each sorted; payments are read behind
 * the lock of their subject.
 */
export const registerPayments: FactKind<PaymentFact, PaymentsState, PaymentRows> = {
  type: 'payment',

  async load(tx, organizationId, facts) {
    const references = [
      ...new Set(facts.flatMap(({ fact }) => (fact.invoiceReference === null ? [] : [fact.invoiceReference]))),
    ]
    let resolved = await resolveReferences(tx, organizationId, references)
    if (references.some((reference) => !isIssued(resolved, reference))) {
      // An invoice may be getting its number at this very moment. Whoever issues one holds the series until the commit:
      // wait for that and look again, or be seen by the next one as money that waits.
      resolved = await lockNumberSeriesShared(tx, organizationId).then(() =>
        resolveReferences(tx, organizationId, references),
      )
    }
    const invoiceIds = new Map(resolved.map((row) => [row.reference, row.id]))
    const [, payments, invoices] = await Promise.all([
      lockMoneySubjects(
        tx,
        organizationId,
        facts.map(({ fact }) => fact),
      ),
      readPayments(
        tx,
        organizationId,
        facts.map(({ fact }) => fact),
      ),
      lockInvoices(tx, organizationId, [...new Set(invoiceIds.values())]),
    ])
    return {
      payments: new Map(payments.map((payment) => [moneyKey(payment), payment])),
      invoices: new Map(invoices.map((invoice) => [invoice.id, invoice])),
      invoiceIds,
    }
  },

  decide: decidePayments,

  write(tx, organizationId, rows, { now }) {
    writeBookings(tx, organizationId, rows, now)
    insertMentions(tx, organizationId, rows.mentions)
    changePayments(tx, organizationId, rows.paymentChanges)
  },
}

function isIssued(resolved: readonly ResolvedReference[], reference: string): boolean {
  return resolved.some((row) => row.reference === reference && row.lifecycle !== 'draft')
}
