import { listDeliveriesOfEvents } from '../modules/deliveries/index.ts'
import { type EventRow, findEvent, listEvents, listNotesOfEvent, type NoteRow } from '../modules/register/index.ts'
import type { Db } from '../platform/database.ts'
import { isId } from '../platform/ids.ts'
import { type Command, exitCodes, type Given, Refusal, type Surroundings, UsageError } from './command.ts'
import { organizationOption, selectOrganization, selectOrganizations, withDatabase } from './office-database.ts'
import { moment, table, toJson } from './table.ts'

const states = ['in_progress', 'completed', 'failed', 'unknown'] as const
const LIMIT = 20
const LIMIT_MAX = 1_000

export const command: Command = {
  name: 'events',
  usage: [
    '[--organization <id or name>] [--state <state>] [--source <source>] [--kind <kind>] [--id <id>] [--limit <n>] [--json]',
    '<event id> [--organization <id or name>] [--json]',
  ],
  about: [
    'Lists the event register of an organisation, newest first; or shows one event with every delivery that brought it,',
    'and what its senders were answered.',
  ],
  options: {
    organization: { ...organizationOption, about: 'needed for the list where there are several' },
    state: { type: 'string', value: '<state>', about: states.join(', ') },
    source: { type: 'string', value: '<source>', about: 'who named it, such as stripe' },
    kind: { type: 'string', value: '<kind>', about: 'what it tells of, such as payment.paid' },
    id: { type: 'string', value: '<id>', about: 'the source’s id of the event, exactly' },
    limit: { type: 'string', value: '<n>', about: `how many; ${LIMIT} if not said, ${LIMIT_MAX} at most` },
    json: { type: 'boolean', about: 'one line of JSON for a program, instead of text' },
  },
  wordsMax: 1,
  async run(given, surroundings) {
    const [id] = given.words
    if (id === undefined) return showList(given, surroundings)
    if (!isId(id)) throw new UsageError(`"${id}" is no id of an event. The source’s own id goes behind --id.`)
    return showOne(id, given, surroundings)
  },
}

async function showList(given: Given, surroundings: Surroundings): Promise<number> {
  const { print } = surroundings
  const filter = {
    state: given.choice('state', states),
    source: given.text('source'),
    kind: given.text('kind'),
    externalId: given.text('id'),
  }
  const limit = given.number('limit', LIMIT, { min: 1, max: LIMIT_MAX })
  const { organization, rows } = await withDatabase(surroundings, async ({ db }) => {
    const chosen = await selectOrganization(db, given.text('organization'))
    const found = await db.transaction(chosen.id, (tx) => listEvents(tx, chosen.id, filter, null, limit))
    return { organization: chosen, rows: found }
  })
  if (given.has('json')) print(toJson({ organizationId: organization.id, events: rows.map(toEvent) }))
  else if (rows.length === 0) print(`${organization.name} has no such event.`)
  else for (const line of listText(rows)) print(line)
  return exitCodes.done
}

function listText(rows: readonly EventRow[]): string[] {
  const heads = ['Last arrived', 'State', 'Source', 'Kind', 'Arrived', 'Attempt', 'Led to', 'Event', 'Id of its source']
  return table(
    heads,
    rows.map((row) => [
      moment(row.last_arrived_at),
      row.state,
      row.source,
      row.kind,
      row.copies,
      row.attempt,
      row.target_type ?? '',
      row.id,
      row.external_id,
    ]),
  )
}

async function showOne(id: string, given: Given, surroundings: Surroundings): Promise<number> {
  const { print } = surroundings
  const found = await withDatabase(surroundings, async ({ db }) => {
    for (const organization of await selectOrganizations(db, given.text('organization'))) {
      const event = await readEvent(db, organization.id, id)
      if (event !== null) return { organization, ...event }
    }
    throw new Refusal(`There is no event ${id}.`)
  })
  const { organization, row, deliveries, notes } = found
  if (given.has('json')) {
    const parts = { deliveries: deliveries.map(toDelivery), notes: notes.map(toNote) }
    print(toJson({ organizationId: organization.id, ...toEvent(row), ...parts }))
  } else for (const line of oneText(organization.name, row, deliveries, notes)) print(line)
  return exitCodes.done
}

type DeliveryRow = Awaited<ReturnType<typeof listDeliveriesOfEvents>>[number]

async function readEvent(db: Db, organizationId: string, id: string) {
  return db.transaction(organizationId, async (tx) => {
    const row = await findEvent(tx, organizationId, id)
    if (row === undefined) return null
    const deliveries = await listDeliveriesOfEvents(tx, organizationId, [id])
    return { row, deliveries, notes: await listNotesOfEvent(tx, organizationId, id) }
  })
}

function oneText(
  organization: string,
  row: EventRow,
  deliveries: readonly DeliveryRow[],
  notes: readonly NoteRow[],
): string[] {
  const target = row.target_id === null ? 'nothing' : `${row.target_type} ${row.target_id}`
  const fields: [string, string][] = [
    ['Organisation', organization],
    ['Event', row.id],
    ['Key', `${row.source}, ${row.kind}, ${row.external_id}`],
    ['State', `${row.state}, attempt ${row.attempt}`],
    ['Arrived', `${row.copies} ×, first ${moment(row.first_arrived_at)}, last ${moment(row.last_arrived_at)}`],
    // Only of work outside that is under way.
    ...(row.lease_until === null
      ? []
      : [['Under way', `since ${moment(row.started_at)}, lease until ${moment(row.lease_until)}`] as [string, string]]),
    ['Led to', target],
    ['Answer', row.answer === null ? 'none' : toJson(row.answer)],
    ...(row.error_code === null
      ? []
      : [['Error', `${row.error_code}: ${row.error_message ?? ''}`] as [string, string]]),
  ]
  const lines = fields.map(([name, value]) => `${name.padEnd(12)}  ${value}`)
  if (notes.length > 0) lines.push('', ...notesText(notes))
  if (deliveries.length === 0)
    return [...lines, '', 'No delivery is on record: it came through the API, or all its answers were lost.']
  const heads = ['Received', 'Outcome', 'Verdict', 'Answered', 'Reason', 'Delivery']
  const rows = deliveries.map((each) => [
    moment(each.received_at),
    each.outcome,
    each.verdict,
    each.answer_status,
    each.reason ?? '',
    each.id,
  ])
  return [...lines, '', ...table(heads, rows)]
}

/** Words that came too late, decisions, repetitions on purpose. */
function notesText(notes: readonly NoteRow[]): string[] {
  const rows = notes.map((each) => [
    moment(each.recorded_at),
    each.type,
    each.attempt ?? '',
    each.author ?? '',
    each.note ?? '',
  ])
  return table(['Noted', 'What', 'Attempt', 'By', 'Note'], rows)
}

function toNote(row: NoteRow) {
  const { id, type, attempt, author, note, data } = row
  return { id, type, attempt, author, note, data, recordedAt: row.recorded_at }
}

/** As in the API, but for what hangs on the moment in which one looks. */
function toEvent(row: EventRow) {
  return {
    id: row.id,
    source: row.source,
    kind: row.kind,
    externalId: row.external_id,
    state: row.state,
    attempt: row.attempt,
    isFinal: row.is_final,
    copies: row.copies,
    startedAt: row.started_at,
    leaseUntil: row.lease_until,
    nextAttemptAt: row.next_attempt_at,
    firstArrivedAt: row.first_arrived_at,
    lastArrivedAt: row.last_arrived_at,
    finishedAt: row.finished_at,
    error: row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? '' },
    target: row.target_type === null || row.target_id === null ? null : { type: row.target_type, id: row.target_id },
    answer: row.answer,
  }
}

function toDelivery(row: DeliveryRow) {
  return {
    id: row.id,
    receivedAt: row.received_at,
    outcome: row.outcome,
    verdict: row.verdict,
    reason: row.reason,
    answerStatus: row.answer_status,
    bodyHash: row.body_hash.toString('hex'),
  }
}
