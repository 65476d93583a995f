import { describe } from 'vitest'
import { conformsOverHttp } from './conformance-http.ts'
import { failsOverHttp } from './conformance-http-failures.ts'
import { serveExpress, serveFastify, serveHono } from './support/idempotent-servers.ts'

for (const [name, serve] of Object.entries({ Fastify: serveFastify, Express: serveExpress, Hono: serveHono })) {
  describe(`Idempotency-Key on ${name}`, () => {
    conformsOverHttp(serve)
  })
  describe(`Idempotency-Key on ${name}, where something fails`, () => {
    failsOverHttp(serve)
  })
}
