import type { Consequences, DecisionContext } from '../../pipeline/index.ts'
import { storableText } from '../../platform/json.ts'
import { toJsonAmount } from '../../platform/money.ts'
import type { DealColumns, DealRow } from './queries.ts'

/** What is left out stays. */
export interface DealChange {
  readonly title?: string | undefined
  readonly contactId?: string | undefined
  readonly stage?: DealRow['stage'] | undefined
  readonly amount?: { readonly amountMinor: bigint; readonly currency: string } | undefined
  readonly expectedOn?: string | null | undefined
}

export interface DealDecision {
  readonly columns: DealColumns
  /** False where the change says what is there already. */
  readonly isChanged: boolean
  readonly consequences: Consequences
}

/**
 * What a change of a deal writes and what follows from it: a line on its time line for each move to another stage, and an
 * event for the one that wins or loses it. Both are named by the version that the move makes, so that a deal that is won
 * again is news again. A deal that leaves its end is open again.
 */
export function decideDealChange(
  deal: DealRow,
  change: DealChange,
  eventId: string,
  { now, newId }: DecisionContext,
): DealDecision {
  const stage = change.stage ?? deal.stage
  const hasMoved = stage !== deal.stage
  const columns: DealColumns = {
    title: change.title === undefined ? deal.title : storableText(change.title),
    contact_id: change.contactId ?? deal.contact_id,
    stage,
    currency: change.amount?.currency ?? deal.currency,
    amount_minor: change.amount?.amountMinor ?? deal.amount_minor,
    expected_on: change.expectedOn === undefined ? deal.expected_on : change.expectedOn,
    closed_at: hasMoved ? (isEnd(stage) ? now : null) : deal.closed_at,
  }
  const columnNames = Object.keys(columns) as (keyof DealColumns)[]
  const isChanged = columnNames.some((column) => columns[column] !== deal[column])
  const subject = { type: 'deal', id: deal.id } as const
  const version = deal.version + 1
  const line = {
    id: newId(),
    subject,
    key: `stage:${version}`,
    type: 'deal.stage_changed',
    eventId,
    data: { before: deal.stage, after: stage },
  }
  const { contact_id: contactId, currency } = columns
  const closed = isEnd(stage)
    ? [
        {
          id: newId(),
          type: `deal.${stage}` as const,
          key: `${deal.id}:${version}`,
          subject,
          eventId,
          data: { contactId, amountMinor: toJsonAmount(columns.amount_minor), currency },
        },
      ]
    : []
  const consequences: Consequences = {
    activities: hasMoved ? [line] : [],
    notifications: [],
    domainEvents: hasMoved ? closed : [],
    reviewItems: [],
    answeredItems: [],
  }
  return { columns, isChanged, consequences }
}

function isEnd(stage: DealRow['stage']): stage is 'won' | 'lost' {
  return stage === 'won' || stage === 'lost'
}
