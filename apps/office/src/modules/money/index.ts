/**
 * Money: invoices, payments, and what a payment does to an invoice.
 * Tables: `invoices`, `invoice_lines`, `number_series`, `payments`, `payment_mentions`, `money_subjects`,
 * `allocations`.
 * Invariants: a payment is on record once per money key; applied + unapplied + returned is what was received; an
 * invoice's counters move only together with an allocation, under the invoice's lock; numbers have no gap and no twin.
 * Records `payment.received`, `invoice.issued`, `invoice.paid`. Money is booked by `registerPayments` and nowhere else.
 */
export { createInvoice, issueInvoice, type MoneyContext } from './invoices.ts'
export {
  type AllocationRow,
  findInvoice,
  findPayment,
  type InvoiceRow,
  listAllocationsOfEvent,
  listInvoiceLines,
  listInvoices,
  listInvoicesOfPayments,
  listMentions,
  listPayments,
  type PaymentRow,
} from './queries.ts'
export { registerPayments } from './register-payments.ts'
