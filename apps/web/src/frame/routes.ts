import { createRootRoute, createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { isSignedOut } from '../platform/api/request.ts'
import { Failed } from './failed.tsx'
import { NotFound } from './not-found.tsx'

export const rootRoute = createRootRoute({ errorComponent: Failed, notFoundComponent: NotFound })

/** Around the pages for those who are not signed in. */
export const doorRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'door',
  component: lazyRouteComponent(() => import('./door.tsx'), 'Door'),
})

const Office = lazyRouteComponent(() => import('./office.tsx'), 'Office')

/** Around the pages of the office. Who is not signed in is led to the sign-in and back. */
export const officeRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'office',
  beforeLoad: async ({ location }): Promise<void> => {
    // The frame comes while the question is on its way.
    void Office.preload?.()
    const [{ queryClient }, { meQuery }] = await Promise.all([import('./query-client.ts'), import('./me.ts')])
    try {
      await queryClient.ensureQueryData(meQuery)
    } catch (error) {
      if (!isSignedOut(error)) throw error
      throw redirect({ to: '/sign-in', search: { next: location.href }, replace: true })
    }
  },
  component: Office,
})
