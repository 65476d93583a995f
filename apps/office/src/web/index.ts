/**
 * What a browser gets: the built screens at the office's own address, and the headers that every answer carries. Knows
 * nothing of what the screens show; they are built by `scripts/build-web.ts`.
 */
export { screenRoutes } from './screen-routes.ts'
export { allowInlineCode, securityHeaders } from './security-headers.ts'
