import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readRoutes, rolesPage } from '../scripts/roles-page.ts'

test('docs/roles.md says what the routes of the server declare', async () => {
  const page = await readFile(join(import.meta.dirname, '../docs/roles.md'), 'utf8')
  expect(page, 'run npm run docs:roles, and read what it changed: who may do what').toBe(rolesPage(await readRoutes()))
})

test('the page has every route with its roles and scopes, and no files that anybody may read', () => {
  const page = rolesPage([
    { method: 'GET', path: '/api/v1/things', access: { who: 'member', roles: ['owner', 'agent'], scope: 'read' } },
    { method: 'HEAD', path: '/api/v1/things', access: { who: 'anybody' } },
    { method: 'POST', path: '/api/v1/things', access: { who: 'member', roles: ['owner'], scope: null } },
    { method: 'GET', path: '/assets/*', access: { who: 'anybody' } },
    { method: 'POST', path: '/assets/*', access: { who: 'anybody' } },
  ])
  expect(page).toContain('| `GET /api/v1/things` | yes | – | – | yes | – | full, read |\n')
  expect(page).toContain('| `POST /api/v1/things` | yes | – | – | – | – | people alone |\n')
  expect(page).toContain('`POST /assets/*`')
  expect(page).not.toMatch(/`HEAD |`GET \/assets/)
})
