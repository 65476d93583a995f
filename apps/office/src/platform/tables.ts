import type { ColumnType, Generated } from 'kysely'

/** The schema as types, column by column as in `migrations/`. Times come as `Date`, int8 as `bigint`. */
export interface Tables {
  organizations: { id: string; name: string; slug: string; created_at: Date; is_first: boolean | null }
  /** Of the people only what the server may see; the rest is better-auth's. */
  'auth.user': { id: string; name: string; email: string; twoFactorEnabled: boolean | null }
  members: {
    id: string
    organization_id: string
    user_id: string
    role: 'owner' | 'admin' | 'accountant' | 'agent' | 'viewer'
    joined_at: Date
    removed_at: Date | null
  }
  invitations: {
    id: string
    organization_id: string
    email: string
    role: 'owner' | 'admin' | 'accountant' | 'agent' | 'viewer'
    link_hash: string
    invited_by: string
    created_at: Date
    expires_at: Date
    accepted_at: Date | null
    accepted_by: string | null
    cancelled_at: Date | null
  }
  api_keys: {
    id: string
    organization_id: string
    name: string
    start: string
    hash: string
    scopes: ('full' | 'read' | 'register' | 'resolve')[]
    created_by: string | null
    created_at: Date
    expires_at: Date | null
    revoked_at: Date | null
  }
  contacts: {
    id: string
    organization_id: string
    type: 'person' | 'company'
    name: string
    search_name: string
    company_id: string | null
    company_type: Generated<'company'>
    tax_id: string | null
    street: string | null
    postal_code: string | null
    city: string | null
    country: string | null
    version: Generated<number>
    created_at: Date
  }
  contact_points: {
    id: string
    organization_id: string
    contact_id: string
    kind: 'email' | 'phone' | 'iban' | 'messenger'
    value: string
    label: string | null
    is_shared: Generated<boolean>
    created_at: Date
    removed_at: Date | null
  }
  deals: {
    id: string
    organization_id: string
    title: string
    contact_id: string
    stage: 'new' | 'qualified' | 'proposal' | 'won' | 'lost'
    currency: string
    amount_minor: bigint
    expected_on: string | null
    version: Generated<number>
    created_at: Date
    closed_at: Date | null
  }
  integrations: {
    id: string
    organization_id: string
    provider: string
    label: string
    settings: Buffer
    is_enabled: Generated<boolean>
    created_at: Date
  }
  webhook_endpoints: { id: string; organization_id: string; integration_id: string; provider: string }
  events: {
    id: string
    organization_id: string
    source: string
    kind: string
    external_id: string
    state: 'in_progress' | 'completed' | 'failed' | 'unknown'
    attempt: number
    is_final: boolean
    holder: string
    lease_until: Date | null
    next_attempt_at: Date | null
    target_capability: 'accepts_key' | 'searchable' | 'neither'
    target_type: string | null
    target_id: string | null
    answer: Json | null
    fingerprint: string
    copies: number
    error_code: string | null
    error_message: string | null
    first_arrived_at: Date
    last_arrived_at: Date
    started_at: Date
    finished_at: Date | null
  }
  events_notes: {
    id: string
    event_id: string
    organization_id: string
    type: string
    holder: string | null
    attempt: number | null
    author: string | null
    note: string | null
    data: Json | null
    recorded_at: Date
  }
  due_work: { organization_id: string; due_at: Date | null }
  deliveries: {
    id: string
    organization_id: string
    endpoint_id: string
    source: string
    received_at: Date
    headers: Json
    body_hash: Buffer
    verdict: 'accepted' | 'ignored' | 'failed'
    reason: string | null
    answer_status: number
  }
  delivery_bodies: { hash: Buffer; organization_id: string; body: Buffer | null; first_received_at: Date }
  delivery_events: { delivery_id: string; event_id: string; organization_id: string; outcome: string }
  number_series: { name: string; organization_id: string; prefix: string; next_sequence: Generated<bigint> }
  issued_documents: {
    invoice_id: string
    organization_id: string
    currency: string
    total_minor: bigint
    number: string
    sequence: bigint
    series: string
    issued_at: Date
    content: Json
  }
  invoices: {
    id: string
    organization_id: string
    type: Generated<'invoice' | 'credit_note'>
    lifecycle: Generated<'draft' | 'issued' | 'void'>
    series: string | null
    sequence: bigint | null
    number: string | null
    contact_id: string | null
    currency: string
    total_minor: bigint
    paid_minor: Generated<bigint>
    credited_minor: Generated<bigint>
    adjusted_minor: Generated<bigint>
    open_minor: Computed<bigint>
    payment_state: Computed<'open' | 'partial' | 'settled'>
    settle_count: Generated<number>
    issued_at: Date | null
    due_on: string | null
    discount_percent: Generated<string>
    notes: string | null
    copied_from_id: string | null
    corrects_id: string | null
    version: Generated<number>
    created_at: Date
  }
  invoice_lines: {
    invoice_id: string
    organization_id: string
    currency: string
    position: number
    description: string
    quantity: string
    unit_price_minor: string
    discount_percent: string
    tax_percent: string
    net_minor: bigint
  }
  payments: {
    id: string
    organization_id: string
    source: string
    external_id: string
    kind: 'payment' | 'correction'
    event_id: string
    amount_minor: bigint
    currency: string
    applied_minor: Generated<bigint>
    returned_minor: Generated<bigint>
    unapplied_minor: Computed<bigint>
    invoice_reference: string | null
    is_placed_by_hand: Generated<boolean>
    contact_id: string | null
    payer_name: string | null
    payer_email: string | null
    occurred_at: Date | null
    recorded_at: Date
    version: Generated<number>
  }
  payment_returns: {
    id: string
    organization_id: string
    source: string
    external_id: string
    kind: 'refund' | 'refund_reversal' | 'refund_total' | 'chargeback' | 'chargeback_reversal' | 'correction'
    return_id: string
    original_id: string
    original_source: string
    event_id: string
    amount_minor: bigint
    currency: string
    occurred_at: Date | null
    recorded_at: Date
  }
  payment_mentions: { payment_id: string; event_id: string; organization_id: string; currency: string }
  allocations: {
    id: string
    organization_id: string
    payment_id: string
    invoice_id: string
    currency: string
    amount_minor: bigint
    event_id: string
    created_at: Date
    reversed_at: Date | null
    reversal_reason: string | null
  }
  credit_allocations: {
    id: string
    organization_id: string
    credit_note_id: string
    invoice_id: string
    currency: string
    amount_minor: bigint
    event_id: string
    created_at: Date
  }
  invoice_adjustments: {
    id: string
    organization_id: string
    invoice_id: string
    currency: string
    kind: 'cash_discount' | 'fee' | 'bad_debt'
    amount_minor: bigint
    note: string | null
    event_id: string
    created_at: Date
    reversed_at: Date | null
    reversal_reason: string | null
  }
  activities: {
    id: string
    organization_id: string
    subject_type: string
    subject_id: string
    key: string
    type: string
    event_id: string
    data: Json
    recorded_at: Date
  }
  notifications: {
    id: string
    organization_id: string
    recipient_id: string
    key: string
    type: string
    event_id: string
    data: Json
    recorded_at: Date
    read_at: Date | null
  }
  domain_events: {
    id: string
    organization_id: string
    type: string
    key: string
    subject_type: string
    subject_id: string
    event_id: string
    data: Json
    recorded_at: Date
  }
  review_items: {
    id: string
    organization_id: string
    key: string
    kind: 'unclear' | 'conflict' | 'unapplied' | 'failed' | 'waiting' | 'excess' | 'unknown' | 'stuck' | 'given_up'
    state: Generated<'open' | 'decided'>
    event_id: string
    delivery_id: string | null
    data: Json
    created_at: Date
    decided_at: Date | null
    decided_by: string | null
    decision: string | null
    note: string | null
  }
  audit_entries: {
    id: string
    organization_id: string
    actor_type: 'member' | 'api_key' | 'assistant' | 'system'
    actor_id: string
    action: string
    subject_type: string
    subject_id: string
    data: Json
    recorded_at: Date
  }
}

type Computed<T> = ColumnType<T, never, never>

/** Read as a value, written as JSON text. */
type Json = ColumnType<unknown, string, string>
