import { defineRegister } from 'einmal'
import { oneLine } from '../support/measured-statements.ts'

/**
 * A statement of the office. Each text that is sent belongs to exactly one. Those of the doctor are not here: they go through
 * an organisation from end to end, by intent, on a connection of their own that is allowed to.
 */
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

const leaseStatements = [
  ...(['reserveLeased', 'peek', 'heartbeat', 'finish', 'resolve', 'surrender', 'countDue'] as const),
  ...(['lockOriginal', 'openGeneration'] as const),
] as const

/** By the text itself: two statements of the library may begin alike. */
function libraryEntry(name: string, text: string): Entry {
  const own = oneLine(text)
  return { label: `einmal.${name}`, matches: (sent) => sent === own }
}

const askedAbout = 'work that fell silent and was asked about stays in the way until somebody ends it'

const listEvents = page('register.listEvents', 'events')

/** A filter that has an index of its own. */
const indexedEvents = /^select \* from "events" where "organization_id" = .* order by "id" desc limit /

function isFilteredByOrigin(text: string): boolean {
  return /and "(source|kind)" = /.test(text)
}

export const entries: readonly Entry[] = [
  ...registerStatements.map((name) => libraryEntry(name, register[name].text)),
  ...leaseStatements.map((name) => libraryEntry(name, register.leases[name].text)),
  libraryEntry('openWindow', register.memories.openWindow.text),

  entry('activities.recordActivities', /^insert into activities /),
  {
    ...entry(
      'activities.listActivities',
      /^select \* from "activities" where "subject_id" = .* order by "id" desc limit /,
    ),
    mayWalk: 'the history of one subject: an index for its order would be paid for by every payment',
  },
  {
    ...entry('activities.listActivitiesOfEvent', /^select \* from "activities" .* and "event_id" = /),
    mayWalk: 'the history of the subjects, since the key of a line begins with neither its event nor its payment',
  },
  entry('audit.recordAudit', /^insert into audit_entries /),
  page('audit.listAuditEntries', 'audit_entries'),
  entry(
    'audit.listAuditEntries names',
    /^select m\.id, u\.name from members .* union all select k\.id, k\.name from api_keys /,
  ),
  entry('audit.listAuditEntriesOfSubject', /^select \* from "audit_entries" where "subject_id" = /),
  entry('contacts.insertContact', /^insert into "contacts" /),
  entry('contacts.updateContact', /^update "contacts" set "name" = /),
  entry('contacts.touchContact', /^update "contacts" set "version" = /),
  entry('contacts.findContact', /^select \* from "contacts" where "id" = .* = \$2$/),
  entry('contacts.lockContact', /^select \* from "contacts" where "id" = .* for no key update$/),
  page('contacts.listContacts', 'contacts'),
  {
    ...entry(
      'contacts.listCompanies',
      /^select \* from "contacts" where "organization_id" = .* and "company_id" is null/,
    ),
    isPage: true,
  },
  // By the beginning of a name; the name is a part of its index, so that it walks along the names that begin so.
  entry('contacts.listContactsByName', /^select \* from "contacts" .* order by "search_name", "id" limit /),
  entry('contacts.listPeople', /^select \* from "contacts" where "company_id" = /),
  // By contact points, whose values are exact.
  entry('contacts.listContactsByIdentity', /^select c\.\* from \( select distinct p\.contact_id from unnest\(/),
  entry('contacts.insertContactPoints', /^insert into contact_points /),
  entry('contacts.findPointHolders', /^select u\.kind, u\.value, p\.contact_id .* from contact_points /),
  entry('contacts.listContactPoints', /^select p\.\* from unnest\(.* from contact_points where contact_id = /),
  entry('contacts.findContactPoint', /^select \* from "contact_points" where "id" = /),
  entry('contacts.markPointRemoved', /^update "contact_points" set "removed_at" = /),
  entry('deals.insertDeal', /^insert into "deals" /),
  entry('deals.updateDeal', /^update "deals" set "title" = /),
  entry('deals.findDeal', /^select \* from "deals" where "id" = .* = \$2$/),
  entry('deals.lockDeal', /^select \* from "deals" where "id" = .* for no key update$/),
  page('deals.listDeals', 'deals'),
  {
    ...entry(
      'deals.listDealsInStage',
      /^select \* from "deals" where "organization_id" = .* and stage <> '' and "stage" = /,
    ),
    isPage: true,
    mayWalk: 'where nearly all deals are in one stage, the way along all of them is the shorter one',
  },
  entry('deals.listDealsOfContact', /^select \* from "deals" where "contact_id" = /),
  entry('deliveries.findDelivery', /^select .* from "deliveries" as "delivery" inner join "delivery_bodies" /),
  entry('deliveries.recordDeliveries hold', /^select pg_advisory_xact_lock_shared\(hashtextextended\(\$1, 0\)\)$/),
  entry('deliveries.pruneBodies hold', /^select pg_advisory_xact_lock\(hashtextextended\(\$1, 0\)\)$/),
  { ...entry('deliveries.recordDeliveries', /^with new_bodies as \( insert into delivery_bodies /), rowsEach: 3 },
  entry('deliveries.listDeliveriesOfEvents', /^select .* from "delivery_events" as "link" inner join "deliveries" /),
  {
    ...entry('deliveries.pruneBodies old', /^select hash from delivery_bodies .* order by hash limit \$\d+$/),
    isPage: true,
    mayWalk: 'all bodies, once a night: an index by their age would be paid for by every delivery',
  },
  {
    ...entry('deliveries.pruneBodies', /^with asked as \( select event_id, delivery_id from review_items /),
    isPage: true,
    mayWalk: 'the open questions and unfinished events, whose bodies stay; a body does not know its deliveries',
  },
  entry('domain-events.recordDomainEvents', /^insert into domain_events /),
  entry('domain-events.listDomainEventsOfEvent', /^select d\.\* from unnest\(.* from domain_events /),
  entry('integrations.insertIntegration', /^insert into "integrations" /),
  entry('integrations.insertEndpoint', /^insert into "webhook_endpoints" /),
  entry('integrations.findEndpointOwner', /^select .* from webhook_endpoints where id = /),
  entry('integrations.findIntegration', /^select .* from "integrations" where "id" = /),
  {
    ...entry('integrations.listIntegrations', /^select "i"\."id", "i"\."provider", .* order by "i"\."id" limit /),
    isPage: true,
  },
  entry('integrations.lockIntegration', /^select "i"\."id", "i"\."provider", .* for update of "i"$/),
  entry('integrations.updateIntegration', /^update "integrations" /),
  entry('members.findMember', /^select "m"\."id", .* from "members" as "m" .* and "m"\."id" = \$2$/),
  entry('members.findMemberName', /^select "u"\."name" from "members" as "m" .* where "m"\."id" = /),
  entry('members.findMemberOfUser', /^select "m"\."id", .* from "members" as "m" .* and "m"\."user_id" = \$2$/),
  entry('members.findMemberByEmail', /^select "m"\."id", .* from "members" as "m" .* and "u"\."email" = \$2$/),
  {
    ...entry('members.listMembers', /^select "m"\."id", .* from "members" as "m" .* order by "m"\."id" limit /),
    isPage: true,
  },
  entry('members.lockOwners', /^select "id" from "members" where organization_id = .* and "role" = .* for update$/),
  entry('members.lockMember', /^select "id" from "members" where "id" = .* for update$/),
  entry('members.setMemberRole', /^update "members" set "role" = /),
  entry('members.setMemberRemoved', /^update "members" set "removed_at" = /),
  entry('members.upsertMember', /^insert into members /),
  entry('members.insertApiKey', /^insert into "api_keys" /),
  entry('members.findApiKeyByHash', /^select \* from "api_keys" where "hash" = /),
  entry('members.findApiKeyById', /^select \* from "api_keys" where "id" = .* = \$2$/),
  entry('members.lockApiKey', /^select \* from "api_keys" where "id" = .* for update$/),
  entry('members.setApiKeyRevoked', /^update "api_keys" /),
  { ...entry('members.listApiKeys', /^select "k"\.\*, .* order by "k"\."id" limit /), isPage: true },
  entry('members.insertInvitation', /^insert into "invitations" /),
  {
    ...entry('members.listInvitations', /^select "i"\.\*, \(select "u"\."name" .* order by "i"\."id" desc limit /),
    isPage: true,
  },
  entry('members.findInvitation', /^select "i"\.\*, \(select "u"\."name" .* and "i"\."id" = \$2$/),
  entry('members.lockInvitation', /^select \* from "invitations" where "id" = /),
  entry('members.lockOpenInvitation', /^select \* from "invitations" where "email" = /),
  entry('members.findInvitationByLink', /^select \* from "invitations" where "link_hash" = .* = \$2$/),
  entry('members.lockInvitationByLink', /^select \* from "invitations" where "link_hash" = .* for update$/),
  entry('members.setInvitationLink', /^update "invitations" set "link_hash" = /),
  entry('members.setInvitationCancelled', /^update "invitations" set "cancelled_at" = /),
  entry('members.setInvitationAccepted', /^update "invitations" set "accepted_at" = /),
  // Whether there is any: it ends at the first.
  { ...entry('members.hasOrganization', /^select 1 from organizations limit 1$/), isPage: true },
  entry('members.findOrganizationName', /^select "name" from "organizations" where "id" = /),
  // Of the role that lets people in.
  entry('members.insertOrganization', /^insert into organizations /),
  entry('members.insertPerson', /^insert into auth\."user" /),
  entry('members.insertPerson account', /^insert into auth\.account /),
  entry('members.findPersonByEmail', /^select id from auth\."user" where email = /),
  entry('members.listMemberships', /^select m\.organization_id as .* from members as m join organizations /),
  entry('members.listSessions', /^select id, .* from auth\.session where "userId" = /),
  entry('members.deleteSession', /^delete from auth\.session where id = /),
  entry('members.deleteChallenges', /^delete from auth\.verification where value = /),
  entry('members.setSessionOrganization', /^update auth\.session set "activeOrganizationId" = /),
  entry('members.countAttempt', /^insert into auth\.sign_in_attempts /),
  entry('members.uncountAttempt', /^update auth\.sign_in_attempts /),
  // Up to a thousand of those whose time is over go with it.
  { ...entry('members.deleteAttempts', /^delete from auth\.sign_in_attempts /), isPage: true, rowsEach: 1_000 },
  entry('better-auth', /^(select "primary"\.\* from \(select \* from|insert into|update|delete from) "auth"\./),
  entry('money.resolveReferences', /^select u\.reference, .* from invoices .* union all /),
  entry('money.lockInvoiceSeriesShared', /^select 1 from number_series .* for share$/),
  entry('money.takeNumber ensure', /^insert into number_series /),
  entry('money.takeNumber', /^update number_series /),
  entry('money.queueForPayments', /^select pg_advisory_xact_lock\(place\) from /),
  entry('money.lockMoneySubjects', /^insert into money_subjects /),
  entry('money.readPayments', /^select p\.id, p\.source, p\.kind, .* from unnest\(/),
  entry('money.readReturns', /^select r\.id, .* from payment_returns where original_id = /),
  entry('money.readReturnsByKey', /^select r\.id, .* from payment_returns where external_id = /),
  entry('money.readLiveAllocations', /^select a\.id, a\.payment_id .* from unnest\(/),
  entry('money.listPaymentsOn', /^select p\.source, .* select payment_id from allocations where invoice_id = /),
  entry('money.listWaitingPayments', /^select p\.source, .* from payments where invoice_reference = /),
  entry('money.readInvoiceNumbers', /^select id, number from invoices /),
  entry('money.lockInvoices', /^select .* from invoices where id = any\(.* for no key update$/),
  entry('money.writeLedger reversals', /^update allocations as a set reversed_at /),
  { ...entry('money.writeLedger bookings', /^with new_payments as \( insert into payments /), rowsEach: 2 },
  entry('money.writeLedger returns', /^insert into payment_returns /),
  entry('money.writeLedger payments', /^update payments /),
  {
    ...entry('money.writeLedger invoices', /^update invoices set version = version \+ 1, paid_minor/),
    mayWalk: 'what lies on each invoice, which the policy on its counters adds up',
  },
  entry('money.writeLedger mentions', /^insert into payment_mentions /),
  entry('money.insertDraft', /^insert into "invoices" /),
  entry('money.insertDraft lines', /^insert into "invoice_lines" /),
  entry('money.updateDraft', /^update "invoices" set "contact_id" /),
  entry('money.updateDraft lines', /^delete from "invoice_lines" /),
  entry('money.markIssued', /^update invoices set lifecycle = 'issued'/),
  entry('money.markIssued document', /^insert into issued_documents /),
  entry('money.markVoid', /^update invoices set lifecycle = 'void'/),
  entry('money.insertCreditAllocation', /^insert into credit_allocations /),
  entry('money.insertAdjustment', /^insert into invoice_adjustments /),
  entry('money.reverseAdjustmentRow', /^update invoice_adjustments /),
  entry('money.listAdjustments', /^select \* from "invoice_adjustments" /),
  entry('money.findInvoice', /^select \* from "invoices" where "id" = /),
  page('money.listInvoices', 'invoices'),
  entry('money.listInvoiceLines', /^select \* from "invoice_lines" /),
  entry('money.listAllocationsOf', /^select \* from allocations where invoice_id = .* union all /),
  entry('money.listAllocationsOfPayment', /^select \* from allocations where payment_id = /),
  entry('money.listCreditsOf', /^select c\.credit_note_id .* from credit_allocations /),
  entry('money.findReturn', /^select \* from "payment_returns" where "id" = /),
  entry('money.listReturnsOf', /^select \* from "payment_returns" where "original_id" = /),
  {
    ...entry('money.listContactBalances', /^select contact_id, currency, sum\(open_minor\)/),
    mayWalk: 'the invoices of a contact and what it has to its credit',
  },
  entry('money.findPayment', /^select \* from "payments" where "id" = /),
  entry('money.findPaymentByName', /^select \* from "payments" where "external_id" = /),
  page('money.listPayments', 'payments'),
  entry('money.listInvoicesOfPayments', /^select a\.payment_id, a\.invoice_id, i\.contact_id from unnest/),
  entry('money.listContactsOfInvoices', /^select "id", "contact_id" from "invoices" /),
  entry('money.listMentions', /^select .* from "payment_mentions" /),
  entry('notifications.listRecipients', /^select user_id from members where /),
  entry('notifications.listNotifications', /^select \* from "notifications" where "recipient_id" = .* limit /),
  entry('notifications.markRead', /^update "notifications" /),
  { ...entry('notifications.recordNotifications', /^insert into notifications /), rowsEach: 3 },
  entry('notifications.listNotificationsByKey', /^select \* from "notifications" .* and "key" in /),
  { ...listEvents, matches: (text) => listEvents.matches(text) && !isFilteredByOrigin(text) },
  {
    ...listEvents,
    label: 'register.listEvents by source or kind',
    matches: (text) => listEvents.matches(text) && isFilteredByOrigin(text),
    mayWalk: 'most events share a few sources and kinds, so an index for this filter would be paid by every payment',
  },
  {
    label: 'register.listEvents unfinished',
    matches: (text) => indexedEvents.test(text) && !text.includes('and "external_id" = '),
    isPage: true,
  },
  {
    label: 'register.listEvents by name',
    matches: (text) => indexedEvents.test(text) && text.includes('and "external_id" = '),
    isPage: true,
  },
  entry('register.findEvent', /^select \* from "events" where "id" = /),
  entry('register.findEventByName', /^select "id" from "events" where "external_id" = /),
  entry('register.listNotesOfEvent', /^select \* from "events_notes" where "event_id" = /),
  entry('register.noteDueWork hold', /^select pg_advisory_xact_lock_shared\(.*due_work/),
  entry('register.noteDueWork', /^insert into due_work /),
  { ...entry('register.takeDueOrganizations', /^update due_work set due_at = clock_timestamp\(\) /), isPage: true },
  {
    ...entry('register.lockStuckEvents', /^select e\.id, e\.source, .* for no key update of e skip locked$/),
    mayWalk: askedAbout,
  },
  entry('register.planDueWork hold', /^select pg_advisory_xact_lock\(.*due_work/),
  { ...entry('register.planDueWork', /^update due_work set due_at = \( select /), mayWalk: askedAbout },
  entry('register.countCopies', /^select "id", "copies" from "events" /),
  entry('review-items.recordReviewItems', /^insert into review_items /),
  entry('review-items.answerReviewItems', /^update review_items /),
  entry('review-items.findReviewItem', /^select \* from "review_items" where "id" = /),
  entry('review-items.decideReviewItem', /^update "review_items" set "state" = .* "decided_by" = \$\d+\) returning/),
  entry('review-items.reopenReviewItem', /^update "review_items" .* and "decision" = /),
  page('review-items.listReviewItems', 'review_items'),
  entry('review-items.listReviewItemsOfEvent', /^select \* from "review_items" .* and "event_id" = /),
]

/** Functions that send what stands above under another name. */
export const sentByOthers: Readonly<Record<string, string>> = {
  'money.readInvoice': 'money.findInvoice',
  'money.writeLedger': 'money.writeLedger bookings',
}

export function entriesOf(text: string): Entry[] {
  return entries.filter((candidate) => candidate.matches(text))
}
