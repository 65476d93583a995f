import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply } from 'fastify'
import helmet from 'helmet'

const SECONDS_PER_YEAR = 365 * 24 * 60 * 60

/** What no page of the office asks for is not to be had by one that somebody has smuggled something into. */
const permissionsPolicy = [
  ...['accelerometer', 'autoplay', 'bluetooth', 'browsing-topics', 'camera', 'display-capture', 'geolocation'],
  ...['gyroscope', 'hid', 'magnetometer', 'microphone', 'midi', 'payment', 'screen-wake-lock', 'serial', 'usb'],
]
  .map((feature) => `${feature}=()`)
  .join(', ')

/** For all that is no page: a browser that is talked into showing it runs nothing of it, in no frame. */
const dataPolicy = policy({ 'default-src': "'none'", 'frame-ancestors': "'none'" })

/** For the page of the contract, whose maker writes scripts and styles into the page itself. */
const inlinePolicy = policy({
  'default-src': "'none'",
  'script-src': "'self' 'unsafe-inline'",
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'font-src': "'self' data:",
  'connect-src': "'self'",
  'form-action': "'self'",
  'frame-ancestors': "'none'",
  'base-uri': "'none'",
  'object-src': "'none'",
})

/** For the screens: files of this address, and the styles of whoever knows the nonce of this one answer. */
export function screenPolicy(nonce: string): string {
  return policy({
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': `'self' 'nonce-${nonce}'`,
    'img-src': "'self' data:",
    'font-src': "'self'",
    'connect-src': "'self'",
    'form-action': "'self'",
    'frame-ancestors': "'none'",
    'base-uri': "'none'",
    'object-src': "'none'",
    'manifest-src': "'self'",
  })
}

function policy(directives: Readonly<Record<string, string>>): string {
  return Object.entries(directives)
    .map(([name, sources]) => `${name} ${sources}`)
    .join('; ')
}

/**
 * What every answer carries unless its route says otherwise, refusals and unknown addresses included: a policy for data,
 * nothing kept by caches, no Referer. `baseUrl` is where people reach the office: only under `https` are browsers told
 * never to come without it again.
 */
export function securityHeaders(baseUrl: string): (reply: FastifyReply) => void {
  const headers = {
    ...recommendedHeaders(new URL(baseUrl).protocol === 'https:'),
    'content-security-policy': dataPolicy,
    'permissions-policy': permissionsPolicy,
    'cache-control': 'no-store',
  }
  return (reply) => void reply.headers(headers)
}

/** Worked out once: they are the same for each answer. */
function recommendedHeaders(isHttps: boolean): Record<string, string> {
  const request = new IncomingMessage(new Socket())
  const response = new ServerResponse(request)
  const write = helmet({
    contentSecurityPolicy: false,
    // Other names below this one are not ours to speak for.
    strictTransportSecurity: isHttps ? { maxAge: SECONDS_PER_YEAR, includeSubDomains: false } : false,
    referrerPolicy: { policy: 'no-referrer' },
    crossOriginOpenerPolicy: { policy: 'same-origin' },
    crossOriginResourcePolicy: { policy: 'same-origin' },
    xFrameOptions: { action: 'deny' },
    // For browsers that nobody has any more.
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xDnsPrefetchControl: false,
    xXssProtection: false,
  })
  write(request, response, () => undefined)
  return Object.fromEntries(Object.entries(response.getHeaders()).map(([name, value]) => [name, String(value)]))
}

/** Lets the pages of this scope carry scripts and styles of their own, and be kept by the browser. */
export function allowInlineCode(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers({ 'content-security-policy': inlinePolicy, 'cache-control': 'no-cache' })
    done()
  })
}
