import type { Db } from '../platform/database.ts'

export interface OrganizationName {
  readonly id: string
  readonly name: string
  readonly slug: string
}

/**
 * Every organisation, for commands that go through all of them. Asked here and not of the members, whose module brings the whole
 * sign-in along: most commands would spend more time loading that than working.
 */
export async function listOrganizations(db: Db): Promise<OrganizationName[]> {
  return db.query<OrganizationName>('select id, name, slug from organizations order by name, id', [])
}
