/** Account: one’s own name, password, second step and devices. */

import { roles } from '@einmal/contract'
import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import type { Area } from '../../frame/area.ts'
import { officeRoute } from '../../frame/routes.ts'
import { PersonIcon } from '../../parts/icons.tsx'

const routes = [
  createRoute({
    getParentRoute: () => officeRoute,
    path: '/account',
    component: lazyRouteComponent(() => import('./account-page.tsx'), 'AccountPage'),
  }),
] as const

export const accountArea = {
  routes,
  navigation: [
    { to: '/account', label: { en: 'My account', de: 'Mein Konto' }, icon: PersonIcon, group: 'settings', roles },
  ],
} as const satisfies Area
