/**
 * Money: invoices and credit notes, payments and what went back of them, and what lies on what.
 * Tables: `invoices`, `invoice_lines`, `issued_documents`, `number_series`, `payments`, `payment_mentions`, `payment_returns`,
 * `money_subjects`, `allocations`, `credit_allocations`, `invoice_adjustments`.
 * Invariants: a payment is on record once per money key; applied + unapplied + returned is what was received; a counter
 * moves only together with its ledger row; numbers have no gap and no twin; no money waits whose invoice could take it.
 * Facts are booked by `registerPayments` and nowhere else; acts of people write through the same book.
 */

export type { InvoiceDraft, InvoiceLineDraft } from './invoice-totals.ts'
export { invoiceTotals } from './invoice-totals.ts'
export {
  type AdjustmentInput,
  adjustInvoice,
  type CreditNoteInput,
  changeInvoice,
  createInvoice,
  creditInvoice,
  duplicateInvoice,
  issueInvoice,
  reverseAdjustment,
  voidInvoice,
} from './invoices.ts'
export {
  applyPayment,
  bookDifference,
  movePayment,
  payInvoice,
  type ReturnInput,
  recordPayment,
  returnPayment,
  reverseReturn,
} from './payments.ts'
export {
  type AdjustmentRow,
  type AllocationRow,
  findInvoice,
  findPayment,
  findPaymentByName,
  findReturn,
  type InvoiceRow,
  listAdjustments,
  listAllocationsOf,
  listAllocationsOfPayment,
  listContactBalances,
  listContactsOfInvoices,
  listCreditsOf,
  listInvoiceLines,
  listInvoices,
  listInvoicesOfPayments,
  listMentions,
  listPayments,
  listReturnsOf,
  type PaymentRow,
  type ReturnRow,
} from './queries.ts'
export { enterFacts, type MoneyContext, type MoneyFact, registerPayments } from './register-payments.ts'
