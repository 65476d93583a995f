import type { MoneyName, ReturnFact } from '../../facts/index.ts'
import { send, sql, type Tx } from '../../platform/database.ts'
import { storableText } from '../../platform/json.ts'
import type {
  InvoiceChange,
  KnownPayment,
  KnownReturn,
  LedgerRows,
  LiveAllocation,
  LockedInvoice,
  NewAllocation,
  NewPayment,
  NewReturn,
  PaymentChange,
  PaymentMention,
  Reversal,
} from './ledger.ts'
import { findInvoice, type InvoiceRow } from './queries.ts'

export interface ResolvedReference {
  readonly reference: string
  readonly id: string
  readonly lifecycle: 'draft' | 'issued' | 'void'
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/**
 * Finds the invoices that references name, by number or by id. Takes no lock; a number never changes once given.
 *
 * Ids are cast before they come into the statement: behind row-level security, PostgreSQL 15 uses no index for a condition
 * with a cast in it.
 */
export async function resolveReferences(
  tx: Tx,
  organizationId: string,
  references: readonly string[],
): Promise<ResolvedReference[]> {
  if (references.length === 0) return []
  const ids = references.filter((reference) => uuid.test(reference)).map((reference) => reference.toLowerCase())
  const found = await send<ResolvedReference>(
    tx,
    sql`select u.reference, i.id, i.lifecycle
      from unnest(${references.map(storableText)}::text[]) as u (reference)
      cross join lateral (
        select id, lifecycle from invoices
        where number = u.reference and organization_id = ${organizationId}::uuid limit 1) as i
      union all
      select i.id::text, i.id, i.lifecycle
      from unnest(${ids}::uuid[]) as u (id)
      cross join lateral (
        select id, lifecycle from invoices
        where id = u.id and organization_id = ${organizationId}::uuid limit 1) as i`,
  )
  const byText = new Map(found.map((row) => [row.reference, row]))
  return references.flatMap((reference) => {
    const row = byText.get(storableText(reference)) ?? byText.get(reference.toLowerCase())
    return row === undefined ? [] : [{ ...row, reference }]
  })
}

/** Which documents are counted together, and how their numbers begin. */
const series = { invoice: 'RE-', credit_note: 'GS-' } as const
export type SeriesName = keyof typeof series

/** Holds off everybody who issues an invoice, until the end of the transaction, and waits for those who are at it. */
export async function lockInvoiceSeriesShared(tx: Tx, organizationId: string): Promise<void> {
  await ensureSeries(tx, organizationId, 'invoice')
  await send(
    tx,
    sql`select 1 from number_series where name = 'invoice' and organization_id = ${organizationId}::uuid for share`,
  )
}

export interface Numbered {
  readonly series: string
  readonly sequence: bigint
  readonly number: string
}

/** The next number; the row stays locked until the commit, so a rollback leaves no gap. */
export async function takeNumber(tx: Tx, organizationId: string, name: SeriesName): Promise<Numbered> {
  await ensureSeries(tx, organizationId, name)
  const [row] = await send<{ sequence: bigint; prefix: string }>(
    tx,
    sql`update number_series set next_sequence = next_sequence + 1
      where name = ${name} and organization_id = ${organizationId}::uuid
      returning next_sequence - 1 as sequence, prefix`,
  )
  if (row === undefined) throw new Error(`the number series ${name} is missing`)
  const number = `${row.prefix}${row.sequence.toString().padStart(5, '0')}`
  return { series: name, sequence: row.sequence, number }
}

function ensureSeries(tx: Tx, organizationId: string, name: SeriesName): Promise<unknown> {
  return send(
    tx,
    sql`insert into number_series (name, organization_id, prefix)
      values (${name}, ${organizationId}::uuid, ${series[name]}) on conflict do nothing`,
  )
}

/**
 * Lets acts on one payment go one after the other, before they look where it lies: whoever looked first and then waited for
 * the lock of the money has looked too early, and begins again, at most three times. Payments that arrive do not queue here.
 *
 * Comes before every other lock of money, so nothing of it may be held. Sent, not awaited.
 */
export function queueForPayments(tx: Tx, organizationId: string, names: readonly MoneyName[]): void {
  if (names.length === 0) return
  void send(
    tx,
    sql`select pg_advisory_xact_lock(place) from (
        select distinct hashtextextended(concat_ws(chr(10), ${organizationId}::text, u.source, u.external_id), 0) as place
        from unnest(${names.map((name) => name.externalId)}::text[], ${names.map((name) => name.source)}::text[])
          as u (external_id, source)
        order by place) as places`,
  )
}

/**
 * Locks the money that is named, known or not, in one order. Everything about that money waits here. Returns how many were
 * known before: of money that nobody has named yet, nothing can be on record.
 */
export async function lockMoneySubjects(tx: Tx, organizationId: string, names: readonly MoneyName[]): Promise<number> {
  if (names.length === 0) return 0
  const subjects = [...new Map(names.map((name) => [`${name.externalId}\0${name.source}`, name])).entries()]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, name]) => name)
  const rows = await send<{ isKnown: boolean }>(
    tx,
    sql`insert into money_subjects (external_id, source, organization_id)
      select u.external_id, u.source, ${organizationId}::uuid
      from unnest(${subjects.map((name) => name.externalId)}::text[], ${subjects.map((name) => name.source)}::text[])
        as u (external_id, source)
      on conflict (external_id, source, organization_id) do update set source = excluded.source
      returning xmax <> 0 as "isKnown"`,
  )
  return rows.filter(({ isKnown }) => isKnown).length
}

/** Payments on record under their keys. What is read behind the lock of their subjects stays so. */
export async function readPayments(
  tx: Tx,
  organizationId: string,
  names: readonly MoneyName[],
): Promise<KnownPayment[]> {
  if (names.length === 0) return []
  return send(
    tx,
    sql`select p.id, p.source, p.kind, p.external_id as "externalId", p.amount_minor as "amountMinor", p.currency,
        p.applied_minor as "appliedMinor", p.returned_minor as "returnedMinor",
        p.invoice_reference as "invoiceReference", p.is_placed_by_hand as "isPlacedByHand",
        p.contact_id as "contactId", p.version
      from unnest(${names.map((name) => name.externalId)}::text[], ${names.map((name) => name.source)}::text[])
        as u (external_id, source)
      cross join lateral (
        select * from payments
        where external_id = u.external_id and source = u.source and organization_id = ${organizationId}::uuid
        limit 1) as p`,
  )
}

/** Movements of the payments named, on record or not. */
export async function readReturns(tx: Tx, organizationId: string, names: readonly MoneyName[]): Promise<KnownReturn[]> {
  if (names.length === 0) return []
  return send(
    tx,
    sql`select r.id, r.source, r.kind, r.external_id as "externalId", r.return_id as "returnId",
        r.original_id as "originalId", r.original_source as "originalSource", r.amount_minor as "amountMinor",
        r.currency
      from unnest(${names.map((name) => name.externalId)}::text[], ${names.map((name) => name.source)}::text[])
        as u (external_id, source)
      cross join lateral (
        select * from payment_returns
        where original_id = u.external_id and original_source = u.source
          and organization_id = ${organizationId}::uuid offset 0) as r`,
  )
}

/** The same by the movement's own key: it may be on record for another payment than it names now. */
export async function readReturnsByKey(
  tx: Tx,
  organizationId: string,
  facts: readonly ReturnFact[],
): Promise<KnownReturn[]> {
  if (facts.length === 0) return []
  return send(
    tx,
    sql`select r.id, r.source, r.kind, r.external_id as "externalId", r.return_id as "returnId",
        r.original_id as "originalId", r.original_source as "originalSource", r.amount_minor as "amountMinor",
        r.currency
      from unnest(${facts.map((fact) => fact.externalId)}::text[], ${facts.map((fact) => fact.kind)}::text[],
        ${facts.map((fact) => fact.source)}::text[]) as u (external_id, kind, source)
      cross join lateral (
        select * from payment_returns
        where external_id = u.external_id and kind = u.kind and source = u.source
          and organization_id = ${organizationId}::uuid limit 1) as r`,
  )
}

/** What lies on invoices of the payments given, oldest first. */
export async function readLiveAllocations(
  tx: Tx,
  organizationId: string,
  paymentIds: readonly string[],
): Promise<LiveAllocation[]> {
  if (paymentIds.length === 0) return []
  return send(
    tx,
    sql`select a.id, a.payment_id as "paymentId", a.invoice_id as "invoiceId", a.amount_minor as "amountMinor"
      from unnest(${paymentIds}::uuid[]) as u (payment_id)
      cross join lateral (
        select * from allocations
        where payment_id = u.payment_id and organization_id = ${organizationId}::uuid offset 0) as a
      where a.reversed_at is null
      order by a.id`,
  )
}

/** Names of the payments that lie on the invoices given. */
export async function listPaymentsOn(
  tx: Tx,
  organizationId: string,
  invoiceIds: readonly string[],
): Promise<MoneyName[]> {
  if (invoiceIds.length === 0) return []
  return send(
    tx,
    sql`select p.source, p.external_id as "externalId"
      from unnest(${invoiceIds}::uuid[]) as u (invoice_id)
      cross join lateral (
        select payment_id from allocations
        where invoice_id = u.invoice_id and organization_id = ${organizationId}::uuid and reversed_at is null
        offset 0) as a
      cross join lateral (
        select source, external_id from payments
        where id = a.payment_id and organization_id = ${organizationId}::uuid limit 1) as p`,
  )
}

/** Names of the money that waits for one of these references, oldest first. */
export async function listWaitingPayments(
  tx: Tx,
  organizationId: string,
  references: readonly string[],
): Promise<MoneyName[]> {
  if (references.length === 0) return []
  return send(
    tx,
    // `offset 0` keeps the look-up by reference from becoming a join, which would start from the organisation.
    sql`select p.source, p.external_id as "externalId"
      from unnest(${references}::text[]) as u (reference)
      cross join lateral (
        select id, source, external_id, is_placed_by_hand from payments
        where invoice_reference = u.reference and organization_id = ${organizationId}::uuid and unapplied_minor > 0
        offset 0) as p
      where not p.is_placed_by_hand
      order by p.id`,
  )
}

/** Numbers of the invoices given, by id; those that have one. */
export async function readInvoiceNumbers(
  tx: Tx,
  organizationId: string,
  ids: readonly string[],
): Promise<{ id: string; number: string }[]> {
  if (ids.length === 0) return []
  return send(
    tx,
    sql`select id, number from invoices
      where id = any(${ids}::uuid[]) and organization_id = ${organizationId}::uuid and number is not null`,
  )
}

/**
 * Locks invoices in the order of their ids. Whoever reads an invoice's open rest holds its lock.
 *
 * A void one cannot be locked, because the policy that keeps it as it is hides it from every writer, and need not be.
 */
export async function lockInvoices(tx: Tx, organizationId: string, ids: readonly string[]): Promise<LockedInvoice[]> {
  if (ids.length === 0) return []
  const locked = await sendLockInvoices(tx, organizationId, ids)
  const found = new Set(locked.map(({ id }) => id))
  const others: LockedInvoice[] = []
  for (const id of ids) {
    const row = found.has(id) ? undefined : await findInvoice(tx, organizationId, id)
    if (row?.lifecycle === 'void') others.push(toLocked(row))
  }
  return [...locked, ...others]
}

function toLocked(row: InvoiceRow): LockedInvoice {
  const { id, number, type, lifecycle, currency, version } = row
  return {
    ...{ id, number, type, lifecycle, currency, version },
    totalMinor: row.total_minor,
    openMinor: row.open_minor,
    settleCount: row.settle_count,
    contactId: row.contact_id,
  }
}

function sendLockInvoices(tx: Tx, organizationId: string, ids: readonly string[]): Promise<LockedInvoice[]> {
  return send(
    tx,
    sql`select id, number, type, lifecycle, currency, total_minor as "totalMinor", open_minor as "openMinor",
        settle_count as "settleCount", contact_id as "contactId", version
      from invoices where id = any(${ids.toSorted()}::uuid[]) and organization_id = ${organizationId}::uuid
      order by id for no key update`,
  )
}

/**
 * Writes what the book says, ledger rows before the counters that add them up: the policies on payments and invoices look
 * whether they do. Statements are sent and not awaited.
 *
 * Subjects and invoices are locked and were read, so a row in the way is a fault: the unique key refuses it, or the check
 * on a sum, and the group is run again event by event.
 */
export function writeLedger(tx: Tx, organizationId: string, rows: LedgerRows, now: Date): void {
  reverseAllocations(tx, organizationId, rows.reversals, now)
  insertBookings(tx, organizationId, rows.payments, rows.allocations, now)
  insertReturns(tx, organizationId, rows.returns, now)
  changePayments(tx, organizationId, rows.paymentChanges)
  changeInvoices(tx, organizationId, rows.invoiceChanges)
  insertMentions(tx, organizationId, rows.mentions)
}

function reverseAllocations(tx: Tx, organizationId: string, reversals: readonly Reversal[], now: Date): void {
  if (reversals.length === 0) return
  void send(
    tx,
    sql`update allocations as a set reversed_at = ${now.toISOString()}::timestamptz, reversal_reason = u.reason
      from unnest(${reversals.map((row) => row.id)}::uuid[], ${reversals.map((row) => row.paymentId)}::uuid[],
        ${reversals.map((row) => row.invoiceId)}::uuid[], ${reversals.map((row) => row.reason)}::text[])
        as u (id, payment_id, invoice_id, reason)
      where a.id = u.id and a.payment_id = u.payment_id and a.invoice_id = u.invoice_id
        and a.payment_id = any(${reversals.map((row) => row.paymentId)}::uuid[])
        and a.invoice_id = any(${reversals.map((row) => row.invoiceId)}::uuid[])
        and a.organization_id = ${organizationId}::uuid and a.reversed_at is null`,
  )
}

/** Payments and what of them lies on invoices: one statement, for nearly every payment brings both. */
function insertBookings(
  tx: Tx,
  organizationId: string,
  payments: readonly NewPayment[],
  allocations: readonly NewAllocation[],
  now: Date,
): void {
  if (payments.length === 0 && allocations.length === 0) return
  void send(
    tx,
    sql`with new_payments as (
        insert into payments (id, organization_id, source, external_id, kind, event_id, amount_minor, currency,
          applied_minor, returned_minor, invoice_reference, contact_id, payer_name, payer_email, occurred_at,
          recorded_at)
        select u.id, ${organizationId}::uuid, u.source, u.external_id, u.kind, u.event_id, u.amount_minor, u.currency,
          u.applied_minor, u.returned_minor, u.invoice_reference, u.contact_id, u.payer_name, u.payer_email,
          u.occurred_at, ${now.toISOString()}::timestamptz
        from unnest(${payments.map((payment) => payment.id)}::uuid[],
          ${payments.map(({ fact }) => fact.source)}::text[], ${payments.map(({ fact }) => fact.externalId)}::text[],
          ${payments.map(({ fact }) => fact.kind)}::text[], ${payments.map((payment) => payment.eventId)}::uuid[],
          ${payments.map(({ amount }) => amount.amountMinor)}::bigint[],
          ${payments.map(({ amount }) => amount.currency)}::text[],
          ${payments.map((payment) => payment.appliedMinor)}::bigint[],
          ${payments.map((payment) => payment.returnedMinor)}::bigint[],
          ${payments.map(({ fact }) => storedReference(fact.invoiceReference))}::text[],
          ${payments.map((payment) => payment.contactId)}::uuid[],
          ${payments.map(({ fact }) => storable(fact.payer.name))}::text[],
          ${payments.map(({ fact }) => storable(fact.payer.email))}::text[],
          ${payments.map(({ fact }) => fact.occurredAt?.toISOString() ?? null)}::timestamptz[])
          as u (id, source, external_id, kind, event_id, amount_minor, currency, applied_minor, returned_minor,
            invoice_reference, contact_id, payer_name, payer_email, occurred_at)
      )
      insert into allocations (id, organization_id, payment_id, invoice_id, currency, amount_minor, event_id,
        created_at, reversed_at, reversal_reason)
      select u.id, ${organizationId}::uuid, u.payment_id, u.invoice_id, u.currency, u.amount_minor, u.event_id,
        ${now.toISOString()}::timestamptz,
        case when u.reversal_reason is not null then ${now.toISOString()}::timestamptz end, u.reversal_reason
      from unnest(${allocations.map((row) => row.id)}::uuid[], ${allocations.map((row) => row.paymentId)}::uuid[],
        ${allocations.map((row) => row.invoiceId)}::uuid[], ${allocations.map((row) => row.currency)}::text[],
        ${allocations.map((row) => row.amountMinor)}::bigint[], ${allocations.map((row) => row.eventId)}::uuid[],
        ${allocations.map((row) => row.reversalReason)}::text[])
        as u (id, payment_id, invoice_id, currency, amount_minor, event_id, reversal_reason)`,
  )
}

function insertReturns(tx: Tx, organizationId: string, returns: readonly NewReturn[], now: Date): void {
  if (returns.length === 0) return
  const facts = returns.map(({ fact }) => fact)
  void send(
    tx,
    sql`insert into payment_returns (id, organization_id, source, external_id, kind, return_id, original_id,
        original_source, event_id, amount_minor, currency, occurred_at, recorded_at)
      select u.id, ${organizationId}::uuid, u.source, u.external_id, u.kind, u.return_id, u.original_id,
        u.original_source, u.event_id, u.amount_minor, u.currency, u.occurred_at, ${now.toISOString()}::timestamptz
      from unnest(${returns.map((row) => row.id)}::uuid[], ${facts.map((fact) => fact.source)}::text[],
        ${facts.map((fact) => fact.externalId)}::text[], ${facts.map((fact) => fact.kind)}::text[],
        ${facts.map((fact) => fact.returnId)}::text[], ${facts.map((fact) => fact.original.externalId)}::text[],
        ${facts.map((fact) => fact.original.source)}::text[], ${returns.map((row) => row.eventId)}::uuid[],
        ${facts.map((fact) => fact.amount.amountMinor)}::bigint[], ${facts.map((fact) => fact.amount.currency)}::text[],
        ${facts.map((fact) => fact.occurredAt?.toISOString() ?? null)}::timestamptz[])
        as u (id, source, external_id, kind, return_id, original_id, original_source, event_id, amount_minor,
          currency, occurred_at)`,
  )
}

function changePayments(tx: Tx, organizationId: string, changes: readonly PaymentChange[]): void {
  if (changes.length === 0) return
  void send(
    tx,
    sql`update payments as p set applied_minor = p.applied_minor + u.applied_minor,
        returned_minor = p.returned_minor + u.returned_minor, invoice_reference = u.invoice_reference,
        is_placed_by_hand = u.is_placed_by_hand, contact_id = u.contact_id, version = p.version + 1
      from unnest(${changes.map((change) => change.id)}::uuid[], ${changes.map((change) => change.currency)}::text[],
        ${changes.map((change) => change.appliedMinor)}::bigint[],
        ${changes.map((change) => change.returnedMinor)}::bigint[],
        ${changes.map((change) => storedReference(change.invoiceReference))}::text[],
        ${changes.map((change) => change.isPlacedByHand)}::boolean[],
        ${changes.map((change) => change.contactId)}::uuid[])
        as u (id, currency, applied_minor, returned_minor, invoice_reference, is_placed_by_hand, contact_id)
      where p.id = u.id and p.id = any(${changes.map((change) => change.id)}::uuid[])
        and p.organization_id = ${organizationId}::uuid and p.currency = u.currency`,
  )
}

/**
 * `width_bucket` finds an invoice's place in the sorted list of ids. A join with the list would leave PostgreSQL the
 * choice to start from the table, and it takes that choice while it believes the table to be empty.
 */
function changeInvoices(tx: Tx, organizationId: string, changes: readonly InvoiceChange[]): void {
  if (changes.length === 0) return
  const sorted = changes.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const ids = sorted.map((change) => change.id)
  void send(
    tx,
    sql`update invoices set version = version + 1,
        paid_minor = paid_minor + (${sorted.map((change) => change.paidMinor)}::bigint[])[width_bucket(id, ${ids}::uuid[])],
        credited_minor = credited_minor
          + (${sorted.map((change) => change.creditedMinor)}::bigint[])[width_bucket(id, ${ids}::uuid[])],
        adjusted_minor = adjusted_minor
          + (${sorted.map((change) => change.adjustedMinor)}::bigint[])[width_bucket(id, ${ids}::uuid[])],
        settle_count = settle_count
          + (${sorted.map((change) => change.settled)}::integer[])[width_bucket(id, ${ids}::uuid[])]
      where id = any(${ids}::uuid[]) and organization_id = ${organizationId}::uuid`,
  )
}

function insertMentions(tx: Tx, organizationId: string, mentions: readonly PaymentMention[]): void {
  if (mentions.length === 0) return
  void send(
    tx,
    sql`insert into payment_mentions (payment_id, event_id, organization_id, currency)
      select u.payment_id, u.event_id, ${organizationId}::uuid, u.currency
      from unnest(${mentions.map((mention) => mention.paymentId)}::uuid[],
        ${mentions.map((mention) => mention.eventId)}::uuid[], ${mentions.map((mention) => mention.currency)}::text[])
        as u (payment_id, event_id, currency)
      on conflict (payment_id, event_id, organization_id) do nothing`,
  )
}

/** As it was written; but an id in capitals is the same id, and issuing looks for it as text. */
function storedReference(reference: string | null): string | null {
  return reference !== null && uuid.test(reference) ? reference.toLowerCase() : storable(reference)
}

function storable(text: string | null): string | null {
  return text === null ? null : storableText(text)
}
