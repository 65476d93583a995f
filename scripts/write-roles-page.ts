/** `npm run docs:roles`: writes docs/roles.md anew, from the routes of the server. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readRoutes, rolesPage } from './roles-page.ts'

await writeFile(join(import.meta.dirname, '../docs/roles.md'), rolesPage(await readRoutes()))
