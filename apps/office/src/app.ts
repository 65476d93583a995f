/** The office as one HTTP application, put together from its parts. Starts nothing and listens to nothing. */
import { join } from 'node:path'
import swagger from '@fastify/swagger'
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController, type RouteOptions } from 'fastify'
import {
  jsonSchemaTransform,
  jsonSchemaTransformObject,
  serializerCompiler,
  validatorCompiler,
} from 'fastify-type-provider-zod'
import { apiRoutes } from './api/index.ts'
import { createMetrics, webhookRoutes } from './inbound/index.ts'
import { createEndpointDirectory } from './modules/integrations/index.ts'
import { type Access, anybody, authRoutes, type Door } from './modules/members/index.ts'
import { registerPayments } from './modules/money/index.ts'
import { createPipeline, factKind, type Pipeline } from './pipeline/index.ts'
import type { Clock } from './platform/clock.ts'
import type { Db } from './platform/database.ts'
import type { NewId } from './platform/ids.ts'
import type { Log } from './platform/log.ts'
import { installProblems, sendProblem } from './platform/problem.ts'
import type { SecretKey } from './platform/secrets.ts'
import { allowInlineCode, screenRoutes, securityHeaders } from './web/index.ts'

export interface AppParts {
  readonly db: Db
  readonly door: Door
  readonly clock: Clock
  readonly newId: NewId
  readonly secretKey: SecretKey
  readonly log: Log
  /** Addresses whose word about the client's address counts; none by default. */
  readonly trustedProxies?: readonly string[]
  /** Where the built screens lie; that of this repository by default. */
  readonly screensFolder?: string
}

/** A route of the server, and who may use it. */
export interface Route {
  readonly method: string
  readonly path: string
  readonly access: Access
}

export interface App {
  readonly http: FastifyInstance
  readonly pipeline: Pipeline
  /** Every route there is, sorted by path: a server with one that does not say who may use it does not start. */
  readonly routes: readonly Route[]
}

const builtScreens = join(import.meta.dirname, '../../web/dist')

/** As better-auth names it where the office is not served over TLS. */
const SESSION_COOKIE = 'einmal.session_token'

export async function createApp(parts: AppParts): Promise<App> {
  const { db, door, clock, newId, secretKey, log, trustedProxies = [] } = parts
  const pipeline = createPipeline({ db, clock, newId, kinds: [factKind(registerPayments)] })
  const metrics = createMetrics()
  const endpoints = createEndpointDirectory({ db, clock, secretKey })
  const secure = securityHeaders(door.address.baseUrl)

  const http = fastify({
    loggerInstance: log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    // One logger for all requests: making a child for each costs more than most requests log.
    childLoggerFactory: (logger) => logger,
    genReqId: () => newId(),
    // A sender that went away must not hold up the end of the process.
    forceCloseConnections: 'idle',
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    // What cannot be routed reaches no hook.
    frameworkErrors(error, request, reply) {
      secure(reply)
      sendProblem(request, reply, error)
    },
  })
  http.setValidatorCompiler(validatorCompiler)
  http.setSerializerCompiler(serializerCompiler)
  installProblems(http)
  const declared = collectRoutes(http)
  http.addHook('onRequest', (_request, reply, done) => {
    secure(reply)
    done()
  })
  await http.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Einmal',
        version: '0.1.0',
        description: 'Every payment counts exactly once, however often it arrives.',
      },
      servers: [{ url: door.address.baseUrl }],
      components: {
        securitySchemes: {
          apiKey: { type: 'http', scheme: 'bearer' },
          session: { type: 'apiKey', in: 'cookie', name: SESSION_COOKIE },
        },
      },
    },
    transform: jsonSchemaTransform,
    transformObject: jsonSchemaTransformObject,
  })

  http.get('/healthz', { schema: { hide: true }, config: { access: anybody } }, async () => ({ status: 'ok' }))
  http.get('/readyz', { schema: { hide: true }, config: { access: anybody } }, async () => {
    await db.query('select 1', [])
    return { status: 'ready' }
  })
  http.get('/metrics', { schema: { hide: true }, config: { access: anybody } }, async (_request, reply) =>
    reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()),
  )
  await http.register(authRoutes, { door, clock, newId })
  await http.register(webhookRoutes, { db, clock, newId, pipeline, endpoints, metrics })
  await http.register(apiRoutes, { prefix: '/api/v1', db, door, clock, newId, secretKey, pipeline, endpoints })
  await http.register(apiDocs)
  await http.register(screenRoutes, { folder: parts.screensFolder ?? builtScreens })
  await http.ready()
  return { http, pipeline, routes: routesOf(declared) }
}

/** Every route that is registered from here on, as it was declared. */
function collectRoutes(http: FastifyInstance): RouteOptions[] {
  const declared: RouteOptions[] = []
  http.addHook('onRoute', (route) => {
    declared.push(route)
  })
  return declared
}

/** Of what others' packages add, everybody may read everything: it is our contract, and the files of the screens. */
const readByAnybody = ['/api/docs', '/assets/']

function routesOf(declared: readonly RouteOptions[]): Route[] {
  const routes = declared.flatMap(({ method, url, config }) => {
    const access = readByAnybody.some((prefix) => url.startsWith(prefix)) ? anybody : config?.access
    if (access === undefined) throw new Error(`the route ${url} does not say who may use it`)
    return [method].flat().map((each) => ({ method: each, path: url, access }))
  })
  return routes.toSorted((one, other) => one.path.localeCompare(other.path) || one.method.localeCompare(other.method))
}

/** The contract to read in the browser. Served from here; nothing is fetched from anywhere. */
async function apiDocs(app: FastifyInstance): Promise<void> {
  allowInlineCode(app)
  const { default: reference } = await import('@scalar/fastify-api-reference')
  await app.register(reference, {
    routePrefix: '/api/docs',
    configuration: {
      withDefaultFonts: false,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
      showDeveloperTools: 'never',
      hideClientButton: true,
    },
  })
}
