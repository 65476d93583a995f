import type pg from 'pg'

/** The ledger of one organisation as its owner reads it: rows, and nothing that code of the office made of them. */
export interface Ledger {
  readonly invoices: readonly LedgerInvoice[]
  readonly payments: readonly LedgerPayment[]
  readonly returns: readonly LedgerReturn[]
  readonly allocations: readonly LedgerAllocation[]
  readonly credits: readonly { readonly note: string; readonly invoice: string; readonly amount: number }[]
  readonly adjustments: readonly LedgerAdjustment[]
  readonly questions: readonly Question[]
  /** Over every row that a repetition must leave as it is. */
  readonly digest: string
  /** Arrivals in the register, and deliveries on record: what a repetition adds to. */
  readonly copies: number
  readonly deliveries: number
}

/** A row of invoices, and credit notes. */
export interface LedgerInvoice {
  readonly id: string
  readonly number: string | null
  readonly type: 'invoice' | 'credit_note'
  readonly lifecycle: 'draft' | 'issued' | 'void'
  readonly currency: string
  readonly total: number
  readonly paid: number
  readonly credited: number
  readonly adjusted: number
  readonly open: number
  readonly state: string
}

/** A row of payments. */
export interface LedgerPayment {
  readonly rowId: string
  readonly source: string
  readonly id: string
  readonly kind: string
  readonly currency: string
  readonly amount: number
  readonly applied: number
  readonly unapplied: number
  readonly returned: number
  readonly reference: string | null
  readonly byHand: boolean
}

/** A row of movements of returned money. */
export interface LedgerReturn {
  readonly rowId: string
  readonly source: string
  readonly id: string
  readonly kind: 'refund' | 'refund_reversal' | 'refund_total' | 'chargeback' | 'chargeback_reversal' | 'correction'
  readonly belongsTo: string
  readonly paymentSource: string
  readonly paymentId: string
  readonly amount: number
  readonly currency: string
}

/** What of a payment lies, or lay, on an invoice. */
export interface LedgerAllocation {
  readonly rowId: string
  readonly payment: string
  readonly invoice: string
  readonly amount: number
  readonly currency: string
  readonly event: string
  readonly live: boolean
}

interface LedgerAdjustment {
  readonly rowId: string
  readonly invoice: string
  readonly amount: number
  readonly live: boolean
}

interface Question {
  readonly rowId: string
  readonly key: string
  readonly kind: string
  readonly state: string
  readonly decidedBy: string | null
  readonly data: Readonly<Record<string, unknown>>
}

const ours = 'organization_id = $1'

/** Rows of a table as text, in one order; whatever changed in them changes the digest. */
function rowsOf(table: string, columns = 't.*'): string {
  return `select string_agg(r.line, e'\\n' order by r.line) from (
    select (${columns === 't.*' ? 't' : `row(${columns})`})::text as line from ${table} as t where t.${ours}) as r`
}

const digested = [
  ...[
    'invoices',
    'issued_documents',
    'invoice_lines',
    'number_series',
    'payments',
    'payment_returns',
    'payment_mentions',
  ],
  ...['allocations', 'credit_allocations', 'invoice_adjustments', 'money_subjects'],
  ...['activities', 'notifications', 'domain_events', 'review_items', 'audit_entries'],
].map((table) => `(${rowsOf(table)})`)
const register = `(${rowsOf('events', 'id, source, kind, external_id, state, attempt, target_id, answer, fingerprint')})`

const statement = `select json_build_object(
  'invoices', (select coalesce(json_agg(json_build_object('id', id, 'number', number, 'type', type, 'lifecycle', lifecycle,
      'currency', currency, 'total', total_minor, 'paid', paid_minor, 'credited', credited_minor,
      'adjusted', adjusted_minor, 'open', open_minor, 'state', payment_state) order by created_at, id), '[]')
    from invoices where ${ours}),
  'payments', (select coalesce(json_agg(json_build_object('rowId', id, 'source', source, 'id', external_id, 'kind', kind,
      'currency', currency, 'amount', amount_minor, 'applied', applied_minor, 'unapplied', unapplied_minor,
      'returned', returned_minor, 'reference', invoice_reference, 'byHand', is_placed_by_hand) order by id), '[]')
    from payments where ${ours}),
  'returns', (select coalesce(json_agg(json_build_object('rowId', id, 'source', source, 'id', external_id, 'kind', kind,
      'belongsTo', return_id, 'paymentSource', original_source, 'paymentId', original_id, 'amount', amount_minor,
      'currency', currency) order by id), '[]')
    from payment_returns where ${ours}),
  'allocations', (select coalesce(json_agg(json_build_object('rowId', id, 'payment', payment_id, 'invoice', invoice_id,
      'amount', amount_minor, 'currency', currency, 'event', event_id, 'live', reversed_at is null) order by id), '[]')
    from allocations where ${ours}),
  'credits', (select coalesce(json_agg(json_build_object('note', credit_note_id, 'invoice', invoice_id,
      'amount', amount_minor) order by id), '[]') from credit_allocations where ${ours}),
  'adjustments', (select coalesce(json_agg(json_build_object('rowId', id, 'invoice', invoice_id, 'amount', amount_minor,
      'live', reversed_at is null) order by id), '[]') from invoice_adjustments where ${ours}),
  'questions', (select coalesce(json_agg(json_build_object('rowId', id, 'key', key, 'kind', kind, 'state', state,
      'decidedBy', decided_by, 'data', data) order by id), '[]') from review_items where ${ours}),
  'digest', md5(concat_ws(e'\\n--\\n', ${[...digested, register].join(', ')})),
  'copies', (select coalesce(sum(copies), 0) from events where ${ours}),
  'deliveries', (select count(*) from deliveries where ${ours})
) as ledger`

/** One statement, and so one moment. */
export async function readLedger(owner: pg.Pool, organizationId: string): Promise<Ledger> {
  const { rows } = await owner.query<{ ledger: Ledger }>({
    name: 'model.ledger',
    text: statement,
    values: [organizationId],
  })
  const ledger = rows[0]?.ledger
  if (ledger === undefined) throw new Error('one row was asked for')
  return ledger
}
