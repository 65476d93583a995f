import { afterAll, beforeAll, expect } from 'vitest'
import { createTestOffice, type TestOffice, type TestOrganization } from './office.ts'
import { createTwoApps, type TwoApps } from './two-apps.ts'

/** What the tests of contacts share: an office, two servers on it, and organisations as they are needed. */
export interface ContactFixture {
  readonly office: TestOffice
  readonly both: TwoApps
  /** For what concerns one contact alone. */
  readonly shared: TestOrganization
  addOrganization(): Promise<TestOrganization>
  /** Adds what a path takes, and returns its id. */
  add(organization: TestOrganization, body: object, path?: string): Promise<string>
  /** Rows of an organisation; `from` is a table, with conditions if need be. */
  count(organization: TestOrganization, from: string): Promise<number | undefined>
  audits(organization: TestOrganization, subjectId: string): Promise<{ action: string; actor: object; data: object }[]>
}

/** Opens before the first test of a file, and closes behind the last. */
export function createContactFixture(name: string): ContactFixture {
  const opened: { office?: TestOffice; both?: TwoApps; shared?: TestOrganization } = {}
  let organizationCount = 0

  beforeAll(async () => {
    opened.office = await createTestOffice()
    opened.both = await createTwoApps(opened.office)
    opened.shared = await fixture.addOrganization()
  })
  afterAll(async () => {
    await opened.both?.close()
    await opened.office?.close()
  })

  function there<T>(value: T | undefined): T {
    if (value === undefined) throw new Error('the office opens before the first test')
    return value
  }

  const fixture: ContactFixture = {
    get office() {
      return there(opened.office)
    },
    get both() {
      return there(opened.both)
    },
    get shared() {
      return there(opened.shared)
    },
    addOrganization() {
      organizationCount += 1
      return fixture.office.addOrganization(`${name}${organizationCount}`, 1)
    },
    async add(organization, body, path = '/contacts') {
      const answer = await fixture.both.app.post(organization, path, body)
      expect(answer).toMatchObject({ status: 201 })
      return String(answer.body['id'])
    },
    async count(organization, from) {
      const { rows } = await fixture.office.owner.query<{ count: number }>(
        `select count(*)::int as count from ${from} ${from.includes(' where ') ? 'and' : 'where'} organization_id = $1`,
        [organization.organizationId],
      )
      return rows[0]?.count
    },
    async audits(organization, subjectId) {
      const { body } = await fixture.both.app.get(organization, `/audit-entries?subjectId=${subjectId}`)
      return body['items'] as { action: string; actor: object; data: object }[]
    },
  }
  return fixture
}
