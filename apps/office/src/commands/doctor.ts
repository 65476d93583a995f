import { checks, type Finding, type FoundRow, openDoctor } from '../doctor/index.ts'
import { type Command, exitCodes, type Surroundings } from './command.ts'
import { organizationOption, selectOrganizations, withDatabase } from './office-database.ts'
import type { OrganizationName } from './queries.ts'
import { toJson } from './table.ts'

/** Rows that a person is shown of one finding; a program gets all of them. */
const ROWS_SHOWN = 10

export const command: Command = {
  name: 'doctor',
  usage: ['[--organization <id or name>] [--json]'],
  about: [
    'Counts everything anew: every sum, every state and every counter, from the rows they stand for.',
    'Says what disagrees, how that could have come about, and what to do next. It changes nothing,',
    'and the office may run meanwhile. docs/doctor.md explains every check.',
    '',
    'Ends with 0 if nothing is wrong, 1 if something is, 2 if it could not look.',
  ],
  options: {
    organization: { ...organizationOption, about: 'only this organisation; otherwise all, one after the other' },
    json: { type: 'boolean', about: 'one line of JSON for a program, instead of text' },
  },
  wordsMax: 0,
  async run(given, surroundings) {
    const isJson = given.has('json')
    const examined = await withDatabase(surroundings, async ({ db, url }) => {
      const organizations = await selectOrganizations(db, given.text('organization'))
      return examineAll(url, organizations, isJson ? null : surroundings)
    })
    const isHealthy = examined.every(({ findings }) => findings.every(({ severity }) => severity === 'note'))
    if (isJson) surroundings.print(toJson({ healthy: isHealthy, checks: checks.length, organizations: examined }))
    else surroundings.print(summaryOf(examined))
    return isHealthy ? exitCodes.done : exitCodes.no
  },
}

interface Examined {
  readonly id: string
  readonly name: string
  readonly findings: readonly Finding[]
}

async function examineAll(
  url: string,
  organizations: readonly OrganizationName[],
  shownTo: Surroundings | null,
): Promise<Examined[]> {
  const doctor = await openDoctor(url)
  try {
    const examined: Examined[] = []
    for (const [index, { id, name }] of organizations.entries()) {
      shownTo?.print(`${name} (organisation ${index + 1} of ${organizations.length}): ${checks.length} checks …`)
      const findings = await doctor.examine(id)
      examined.push({ id, name, findings })
      for (const line of findings.flatMap(describe)) shownTo?.print(line)
    }
    return examined
  } finally {
    await doctor.close()
  }
}

function describe({ check, title, severity, cause, remedy, rows, hasMore }: Finding): string[] {
  const shown = rows.slice(0, ROWS_SHOWN)
  const rest = rows.length - shown.length
  const more = hasMore ? `… and more than ${rest} others` : `… and ${rest} more; --json names them`
  return [
    '',
    `  ${severity === 'wrong' ? 'WRONG' : 'note '}  ${check}`,
    `         ${title}. This is not so for:`,
    ...shown.map((row) => `           ${rowText(row)}`),
    ...(rest > 0 ? [`           ${more}`] : []),
    `         How it could have come about: ${cause}`,
    `         What to do: ${remedy}`,
    '',
  ]
}

function rowText({ subject, ...columns }: FoundRow): string {
  const details = Object.entries(columns).map(([name, value]) => `${name.replaceAll('_', ' ')} ${valueText(value)}`)
  return [subject, details.join(', ')].filter((part) => part !== '').join('  ')
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return '–'
  return value instanceof Date ? value.toISOString() : String(value)
}

function summaryOf(examined: readonly Examined[]): string {
  const findings = examined.flatMap((each) => each.findings)
  const wrong = findings.filter(({ severity }) => severity === 'wrong').length
  const notes = findings.length - wrong
  const looked = examined.length === 1 ? '1 organisation' : `${examined.length} organisations`
  const waits = notes === 0 ? '' : ` ${notes === 1 ? 'One thing waits' : `${notes} things wait`} for a person (note).`
  if (wrong === 0) return `${looked} looked at: nothing is wrong.${waits}`
  const count = wrong === 1 ? 'one check does not hold' : `${wrong} checks do not hold`
  return `${looked} looked at: ${count}.${waits} Amounts are in minor units; docs/doctor.md explains every check.`
}
