/** Start: who is signed in where, what will appear here, and what to do first. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import type { Area } from '../../frame/area.ts'
import { officeRoute } from '../../frame/routes.ts'
import { HomeIcon } from '../../parts/icons.tsx'
import { roles } from '../../platform/api/shapes.ts'

export const startArea = {
  routes: [
    createRoute({
      getParentRoute: () => officeRoute,
      path: '/',
      component: lazyRouteComponent(() => import('./start-page.tsx'), 'StartPage'),
    }),
  ],
  navigation: [{ to: '/', label: { en: 'Start', de: 'Start' }, icon: HomeIcon, group: 'work', roles }],
} as const satisfies Area
