import { type DecisionContext, recordConsequences } from '../../pipeline/index.ts'
import { findCurrency } from '../../platform/currencies.ts'
import type { Tx } from '../../platform/database.ts'
import { AppError } from '../../platform/errors.ts'
import { storableText } from '../../platform/json.ts'
import { findContact } from '../contacts/index.ts'
import { type DealChange, decideDealChange } from './decide-deals.ts'
import { type DealRow, insertDeal, updateDeal } from './queries.ts'

export interface DealContext extends DecisionContext {
  readonly organizationId: string
  /** The event that stands for the request, to which activities and domain events point. */
  readonly eventId: string
}

export interface DealDraft {
  readonly title: string
  readonly contactId: string
  readonly stage: 'new' | 'qualified' | 'proposal'
  readonly amount: { readonly amountMinor: bigint; readonly currency: string }
  readonly expectedOn: string | null
}

/** Adds a deal. Throws `invalid` for a contact that is not there and an amount that is none. */
export async function createDeal(tx: Tx, context: DealContext, draft: DealDraft): Promise<DealRow> {
  const { organizationId, now, newId } = context
  const { title, contactId, stage, amount, expectedOn } = draft
  checkAmount(amount)
  await checkContact(tx, organizationId, contactId)
  return insertDeal(tx, organizationId, {
    id: newId(),
    title: storableText(title),
    contact_id: contactId,
    stage,
    currency: amount.currency,
    amount_minor: amount.amountMinor,
    expected_on: expectedOn,
    created_at: now,
    closed_at: null,
  })
}

/**
 * Changes a deal that was locked by `lockDeal`, counts its version up, and records what follows from a move to another
 * stage. A change that says what is there already changes nothing.
 *
 * Throws `invalid` like `createDeal`.
 */
export async function changeDeal(tx: Tx, context: DealContext, locked: DealRow, change: DealChange): Promise<DealRow> {
  const { organizationId, eventId, now } = context
  const { columns, isChanged, consequences } = decideDealChange(locked, change, eventId, context)
  if (!isChanged) return locked
  if (change.amount !== undefined) checkAmount(change.amount)
  if (columns.contact_id !== locked.contact_id) await checkContact(tx, organizationId, columns.contact_id)
  recordConsequences(tx, organizationId, [consequences], now)
  return updateDeal(tx, organizationId, locked.id, columns)
}

function checkAmount({ amountMinor, currency }: DealDraft['amount']): void {
  if (findCurrency(currency) === undefined) {
    throw new AppError('invalid', `amount.currency: ${currency} is no currency of ISO 4217`)
  }
  if (amountMinor < 0n) throw new AppError('invalid', 'amount.amountMinor: a deal brings nothing or more')
}

async function checkContact(tx: Tx, organizationId: string, contactId: string): Promise<void> {
  if ((await findContact(tx, organizationId, contactId)) === undefined) {
    throw new AppError('invalid', `contactId: there is no contact ${contactId}`)
  }
}
