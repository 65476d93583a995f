import { createRouter } from '@tanstack/react-router'
import { areas, doorAreas } from './areas.ts'
import { doorRoute, officeRoute, rootRoute } from './frame/routes.ts'
import { hearSignedOut } from './platform/api/request.ts'
import { goTo } from './platform/go-to.ts'
import { markNavigated } from './platform/navigated.ts'

type DoorPage = (typeof doorAreas)[number][number]
type OfficePage = (typeof areas)[number]['routes'][number]

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    doorRoute.addChildren(doorAreas.flatMap((routes): DoorPage[] => [...routes])),
    officeRoute.addChildren(areas.flatMap(({ routes }): OfficePage[] => [...routes])),
  ]),
  defaultPreload: 'intent',
  // What a page shows is kept by the queries, which know how old it is.
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
})

router.subscribe('onBeforeNavigate', ({ fromLocation, pathChanged }) => {
  if (fromLocation !== undefined && pathChanged) markNavigated()
})

// A session may end while somebody is at work: they sign in, and come back to where they were.
hearSignedOut(() => {
  const { matches, location } = router.state
  if (!matches.some(({ routeId }) => routeId === officeRoute.id)) return
  goTo(`/sign-in?${new URLSearchParams({ next: location.href })}`)
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
