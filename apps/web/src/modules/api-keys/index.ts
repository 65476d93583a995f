/** API keys: with what other programs get in, and how far. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import type { Area } from '../../frame/area.ts'
import { officeRoute } from '../../frame/routes.ts'
import { KeyIcon } from '../../parts/icons.tsx'

const routes = [
  createRoute({
    getParentRoute: () => officeRoute,
    path: '/settings/api-keys',
    component: lazyRouteComponent(() => import('./api-keys-page.tsx'), 'ApiKeysPage'),
  }),
] as const

export const apiKeysArea = {
  routes,
  navigation: [
    {
      to: '/settings/api-keys',
      label: { en: 'API keys', de: 'API-Schlüssel' },
      icon: KeyIcon,
      group: 'settings',
      roles: ['owner', 'admin'],
    },
  ],
} as const satisfies Area
