/** `docs/roles.md`, made from the routes of the server: what a role and a key may do stands beside the route, and nowhere else. */
import { createApp, type Route } from '../apps/office/src/app.ts'
import { type Access, type ApiScope, apiScopes, createDoor, roles } from '../apps/office/src/modules/members/index.ts'
import { systemClock } from '../apps/office/src/platform/clock.ts'
import { createPool, databaseOn } from '../apps/office/src/platform/database.ts'
import { idsOf } from '../apps/office/src/platform/ids.ts'
import { createLog } from '../apps/office/src/platform/log.ts'

/** Every route of the server, which is put together for it and asks no database: nothing is sent to this address. */
export async function readRoutes(): Promise<readonly Route[]> {
  const pool = createPool({ url: 'postgres://nobody@127.0.0.1:1/nowhere', role: 'einmal_auth' })
  const db = databaseOn(pool)
  const address = { baseUrl: 'http://localhost', trustedOrigins: ['http://localhost'] }
  const log = createLog('silent')
  const secretKey = Buffer.alloc(32)
  const door = createDoor({ pool, secretKey, address, sendMail: null, log })
  const app = await createApp({ db, door, clock: systemClock, newId: idsOf(systemClock), secretKey, log })
  await app.http.close()
  await db.close()
  return app.routes
}

const preface = `# Roles

Who may do what, route by route. This page is made from the routes of the server, each of which declares it beside itself:
\`npm run docs:roles\` writes it anew, and a test of \`npm run check\` compares it.

| Role | What it is for |
| --- | --- |
| owner | Whom the organisation belongs to. Everything, and the only one who makes, changes or removes an owner; there is always one |
| admin | Runs the office: people, API keys, senders and their secrets, work of programs that got stuck |
| accountant | Keeps the books: issues invoices, moves money, decides what the review desk asks; sees every event and who changed what |
| agent | Serves customers: contacts, companies, deals, notes, and drafts of invoices |
| viewer | Reads what everybody in the office sees, and changes nothing but what they were told themselves |

| Scope of a key | What it is for |
| --- | --- |
| full | Everything that is not for people alone |
| read | Reads what everybody in the office sees, and the record of events and changes |
| register | Programs that reserve a thing before they do it ([register.md](register.md)) |
| resolve | Says how work of programs ended where nobody knows, and has it done again on purpose |

A route is for *members* (a role, or a key with a scope of the organisation), for *anybody who is signed in*, for *anybody*, or for
*senders*, who sign with the secret of their address. What is for people alone takes no key: one that leaked must not make itself
another. \`HEAD\` is what \`GET\` is. Whatever the role, a thing of another organisation is not there (404).

Pages and their files, and the contract to read under \`/api/docs\`, are for anybody.
`

const API = /^\/(api\/(v1|auth)|webhooks)\//
/** For whoever looks after the server. */
const probes = ['/healthz', '/readyz', '/metrics']

/** Pages, their files and the contract to read are told of in a line. One that is not for anybody to read is no such thing. */
function isPage({ method, path, access }: Route): boolean {
  return method === 'GET' && access.who === 'anybody' && !API.test(path) && !probes.includes(path)
}

export function rolesPage(routes: readonly Route[]): string {
  const areas = new Map<string, Route[]>()
  for (const route of routes) {
    if (route.method === 'HEAD' || isPage(route)) continue
    const area = areaOf(route.path)
    areas.set(area, [...(areas.get(area) ?? []), route])
  }
  const tables = [...areas].toSorted(([one], [other]) => one.localeCompare(other))
  return `${preface}${tables.map(([area, own]) => tableOf(area, own)).join('')}`
}

/** The first word of the path below the API; everything else by its first word. */
function areaOf(path: string): string {
  if (path.startsWith('/api/auth/')) return 'Signing in'
  const word = /^\/(?:api\/v1\/)?([^/]+)/.exec(path)?.[1] ?? ''
  if (path.startsWith('/webhooks/')) return 'Webhooks'
  if (!path.startsWith('/api/v1/')) return 'The server itself'
  const words = word.replaceAll('-', ' ')
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`
}

function tableOf(area: string, routes: readonly Route[]): string {
  const head = ['Route', ...roles, 'Key']
  const rows = routes.map(({ method, path, access }) => [`\`${method} ${path}\``, ...cellsOf(access)])
  return `\n## ${area}\n\n${[head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`
}

function cellsOf(access: Access): string[] {
  switch (access.who) {
    case 'anybody':
      return [...roles.map(() => 'anybody'), 'anybody']
    case 'sender':
      return [...roles.map(() => '–'), 'who can sign']
    case 'person':
      return [...roles.map(() => 'signed in'), 'people alone']
    case 'member':
      return [...roles.map((role) => (access.roles.includes(role) ? 'yes' : '–')), scopesOf(access.scope)]
  }
}

function scopesOf(scope: ApiScope | null): string {
  if (scope === null) return 'people alone'
  return apiScopes.filter((each) => each === 'full' || each === scope).join(', ')
}
