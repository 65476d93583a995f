/** The first time: setting up the office, and coming in by an invitation. Both pages are opened by a link. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { doorRoute } from '../../frame/routes.ts'

export const welcomeRoutes = [
  createRoute({
    getParentRoute: () => doorRoute,
    path: '/set-up',
    component: lazyRouteComponent(() => import('./set-up-page.tsx'), 'SetUpPage'),
  }),
  createRoute({
    getParentRoute: () => doorRoute,
    path: '/invitation',
    component: lazyRouteComponent(() => import('./invitation-page.tsx'), 'InvitationPage'),
  }),
] as const
