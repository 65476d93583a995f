import { defineRegister } from 'einmal'
import { oneLine } from '../support/measured-statements.ts'

/** A statement of the office. Each text that is sent belongs to exactly one. */
export interface Entry {
  /** `module.function`, and which one where the function sends several. */
  readonly label: string
  readonly matches: (text: string) => boolean
  /** A page of an organisation's list: may go along the organisation's index, because a limit ends it. */
  readonly isPage?: true
  /** Why its effort may grow with the organisation. */
  readonly mayWalk?: string
  /** Rows that it writes for each that it is given: one per table, or one per member. */
  readonly rowsEach?: number
}

function entry(label: string, pattern: RegExp): Entry {
  return { label, matches: (text) => pattern.test(text) }
}

function page(label: string, table: string): Entry {
  const pattern = new RegExp(
    `^select \\* from "${table}" where organization_id = .* and id <> .* order by "id" desc limit \\$\\d+$`,
  )
  return { ...entry(label, pattern), isPage: true }
}

const register = defineRegister({ table: 'events', scopeColumn: 'organization_id', scopeType: 'uuid' })
const registerStatements = ['reserveOne', 'reserveMany', 'reserveAgain', 'takeOver', 'complete', 'fail'] as const

const listEvents = page('register.listEvents', 'events')

function isFilteredByOrigin(text: string): boolean {
  return /and "(source|kind)" = /.test(text) && !text.includes('and "external_id" = ')
}

export const entries: readonly Entry[] = [
  ...registerStatements.map((name): Entry => {
    const own = oneLine(register[name].text)
    return { label: `einmal.${name}`, matches: (text) => text === own }
  }),

  entry('activities.recordActivities', /^insert into activities /),
  entry('activities.listActivities', /^select \* from "activities" .* and "subject_id" = \$2 order by "id"$/),
  {
    ...entry('activities.listActivitiesOfEvent', /^select \* from "activities" .* and "event_id" = /),
    mayWalk: 'the history of the subjects, since the key of a line begins with neither its event nor its payment',
  },
  entry('audit.recordAudit', /^insert into audit_entries /),
  entry('contacts.insertContact', /^insert into "contacts" /),
  entry('contacts.findContact', /^select \* from "contacts" where "id" = /),
  page('contacts.listContacts', 'contacts'),
  { ...entry('deliveries.recordDeliveries', /^with new_bodies as \( insert into delivery_bodies /), rowsEach: 3 },
  entry('deliveries.listDeliveriesOfEvents', /^select .* from "delivery_events" as "link" inner join "deliveries" /),
  entry('domain-events.recordDomainEvents', /^insert into domain_events /),
  entry('domain-events.listDomainEventsOfEvent', /^select d\.\* from unnest\(.* from domain_events /),
  entry('integrations.insertIntegration', /^insert into "integrations" /),
  entry('integrations.insertEndpoint', /^insert into "webhook_endpoints" /),
  entry('integrations.findEndpointOwner', /^select .* from webhook_endpoints where id = /),
  entry('integrations.findIntegration', /^select .* from "integrations" where "id" = /),
  entry('members.selectApiKeyByHash', /^select .* from auth\.apikey where key = /),
  entry('money.resolveReferences', /^select u\.reference, .* from invoices .* union all /),
  entry('money.lockNumberSeriesShared', /^select 1 from number_series .* for share$/),
  entry('money.takeNumber ensure', /^insert into number_series /),
  entry('money.takeNumber', /^update number_series /),
  entry('money.lockMoneySubjects', /^insert into money_subjects /),
  entry('money.readPayments', /^select p\.id, p\.source, p\.kind, .* from unnest\(/),
  entry('money.lockInvoices', /^select .* from invoices where id = any\(.* for no key update$/),
  { ...entry('money.writeBookings', /^with new_payments as \( insert into payments /), rowsEach: 3 },
  entry('money.insertMentions', /^insert into payment_mentions /),
  entry('money.changePayments', /^update payments /),
  entry('money.listWaitingPayments', /^select p\.id, p\.source, p\.original_id .* from unnest\(/),
  entry('money.readWaitingPayments', /^select .* from payments where id = any/),
  entry('money.insertDraft', /^insert into "invoices" /),
  entry('money.insertDraft lines', /^insert into "invoice_lines" /),
  entry('money.markIssued', /^update invoices set lifecycle /),
  entry('money.findInvoice', /^select \* from "invoices" where "id" = /),
  page('money.listInvoices', 'invoices'),
  entry('money.listInvoiceLines', /^select \* from "invoice_lines" /),
  entry('money.findPayment', /^select \* from "payments" where "id" = /),
  page('money.listPayments', 'payments'),
  entry('money.listInvoicesOfPayments', /^select a\.payment_id, a\.invoice_id, i\.contact_id from unnest/),
  entry('money.listMentions', /^select .* from "payment_mentions" /),
  entry('money.listAllocationsOfEvent', /^select a\.\* from unnest\(.* from allocations /),
  entry('notifications.listRecipients', /^select "userId" from auth\.member /),
  { ...entry('notifications.recordNotifications', /^insert into notifications /), rowsEach: 3 },
  entry('notifications.listNotificationsByKey', /^select \* from "notifications" .* and "key" in /),
  { ...listEvents, matches: (text) => listEvents.matches(text) && !isFilteredByOrigin(text) },
  {
    ...listEvents,
    label: 'register.listEvents by source or kind',
    matches: (text) => listEvents.matches(text) && isFilteredByOrigin(text),
    mayWalk: 'most events share a few sources and kinds, so an index for this filter would be paid by every payment',
  },
  entry('register.findEvent', /^select \* from "events" where "id" = /),
  entry('register.countCopies', /^select "id", "copies" from "events" /),
  entry('review-items.recordReviewItems', /^insert into review_items /),
  entry('review-items.answerReviewItems', /^update review_items /),
  page('review-items.listOpenReviewItems', 'review_items'),
  entry('review-items.listReviewItemsOfEvent', /^select \* from "review_items" .* and "event_id" = /),
]

/** Functions that send what stands above under another name. */
export const sentByOthers: Readonly<Record<string, string>> = {
  'money.readInvoice': 'money.findInvoice',
}

export function entriesOf(text: string): Entry[] {
  return entries.filter((candidate) => candidate.matches(text))
}
