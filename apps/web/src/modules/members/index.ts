/** Members: who works here, in which role, and who is invited. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import type { Area } from '../../frame/area.ts'
import { officeRoute } from '../../frame/routes.ts'
import { PeopleIcon } from '../../parts/icons.tsx'

const routes = [
  createRoute({
    getParentRoute: () => officeRoute,
    path: '/settings/members',
    component: lazyRouteComponent(() => import('./members-page.tsx'), 'MembersPage'),
  }),
] as const

export const membersArea = {
  routes,
  navigation: [
    {
      to: '/settings/members',
      label: { en: 'Members', de: 'Mitglieder' },
      icon: PeopleIcon,
      group: 'settings',
      roles: ['owner', 'admin'],
    },
  ],
} as const satisfies Area
