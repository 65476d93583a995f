/** Audit: who changed what, and when. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import type { Area } from '../../frame/area.ts'
import { officeRoute } from '../../frame/routes.ts'
import { BookIcon } from '../../parts/icons.tsx'

const routes = [
  createRoute({
    getParentRoute: () => officeRoute,
    path: '/settings/audit',
    component: lazyRouteComponent(() => import('./audit-page.tsx'), 'AuditPage'),
  }),
] as const

export const auditArea = {
  routes,
  navigation: [
    {
      to: '/settings/audit',
      label: { en: 'Record of changes', de: 'Protokoll' },
      icon: BookIcon,
      group: 'settings',
      roles: ['owner', 'admin', 'accountant'],
    },
  ],
} as const satisfies Area
