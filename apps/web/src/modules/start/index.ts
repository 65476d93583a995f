/** Start: who is signed in where, what will appear here, and what to do first. */

import { roles } from '@einmal/contract'
import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import type { Area } from '../../frame/area.ts'
import { officeRoute } from '../../frame/routes.ts'
import { HomeIcon } from '../../parts/icons.tsx'

const routes = [
  createRoute({
    getParentRoute: () => officeRoute,
    path: '/',
    component: lazyRouteComponent(() => import('./start-page.tsx'), 'StartPage'),
  }),
] as const

export const startArea = {
  routes,
  navigation: [{ to: '/', label: { en: 'Start', de: 'Start' }, icon: HomeIcon, group: 'work', roles }],
} as const satisfies Area
