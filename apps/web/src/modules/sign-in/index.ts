/** The way in: sign-in in one or two steps, and a new password for those who forgot theirs. */
import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { doorRoute } from '../../frame/routes.ts'

export const signInRoutes = [
  createRoute({
    getParentRoute: () => doorRoute,
    path: '/sign-in',
    // Read with `safeNext` where it is used.
    validateSearch: (search): { next?: string } => (typeof search['next'] === 'string' ? { next: search['next'] } : {}),
    component: lazyRouteComponent(() => import('./sign-in-page.tsx'), 'SignInPage'),
  }),
  createRoute({
    getParentRoute: () => doorRoute,
    path: '/forgot-password',
    component: lazyRouteComponent(() => import('./forgot-password-page.tsx'), 'ForgotPasswordPage'),
  }),
  createRoute({
    getParentRoute: () => doorRoute,
    path: '/reset-password',
    component: lazyRouteComponent(() => import('./reset-password-page.tsx'), 'ResetPasswordPage'),
  }),
] as const
