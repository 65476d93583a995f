import type { Area } from './frame/area.ts'
import { accountArea } from './modules/account/index.ts'
import { apiKeysArea } from './modules/api-keys/index.ts'
import { auditArea } from './modules/audit/index.ts'
import { membersArea } from './modules/members/index.ts'
import { signInRoutes } from './modules/sign-in/index.ts'
import { startArea } from './modules/start/index.ts'
import { welcomeRoutes } from './modules/welcome/index.ts'

/** The areas of the office, in the order of the navigation. A new one is a folder below `modules` and a line here. */
export const areas = [startArea, membersArea, apiKeysArea, auditArea, accountArea] as const satisfies readonly Area[]

/** The pages for those who are not signed in. */
export const doorAreas = [signInRoutes, welcomeRoutes] as const
