import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import files from '@fastify/static'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { anybody } from '../modules/members/index.ts'
import { screenPolicy } from './security-headers.ts'

export interface ScreenParts {
  /** Where the built screens lie. It may be empty, or be replaced while the office runs. */
  readonly folder: string
}

/** Stands in the built page where each answer puts its nonce. */
const NONCE_PLACE = '__CSP_NONCE__'

/** Addresses of programs: whatever is unknown below them is told so, and never in the form of a page. */
const programPaths = /^\/(api|webhooks|healthz|readyz|metrics|assets)(\/|$)/

/** A file beside the page, such as `/favicon.svg`. No folder, nothing hidden, and not the page with its empty nonce. */
const fileBesidePage = /^\/(?!index\.html$)(\w[\w-]*(?:\.[\w-]+)+)$/

/**
 * The screens: `/assets/…` for files whose name changes with their content, the few files beside the page, and the page
 * itself for every other address that a browser opens. What such an address shows is the page's own business.
 */
export const screenRoutes: FastifyPluginAsync<ScreenParts> = async (app, { folder }) => {
  // A spelling that leads elsewhere: nobody learns more about it than about any other file that is not there.
  app.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
    if (error.statusCode !== 403) throw error
    reply.callNotFound()
  })
  await app.register(files, {
    root: join(folder, 'assets'),
    prefix: '/assets/',
    index: false,
    redirect: false,
    dotfiles: 'ignore',
    preCompressed: true,
    maxAge: '365d',
    immutable: true,
    // The screens need not be built where only the API is used.
    suppressWarning: true,
  })
  app.get('/*', { schema: { hide: true }, config: { access: anybody } }, (request, reply) => {
    const path = request.url.split('?')[0] ?? ''
    const name = fileBesidePage.exec(path)?.[1]
    if (name !== undefined) return reply.sendFile(name, folder, { maxAge: 0, immutable: false })
    if (programPaths.test(path) || path.includes('.') || !takesPages(request)) return reply.callNotFound()
    return sendPage(reply, folder)
  })
}

function takesPages({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/html') === true
}

async function sendPage(reply: FastifyReply, folder: string): Promise<FastifyReply> {
  const built = await readPage(join(folder, 'index.html'))
  const nonce = randomBytes(16).toString('base64url')
  return reply
    .status(built === null ? 503 : 200)
    .headers({ 'content-security-policy': screenPolicy(nonce), 'cache-control': 'no-store' })
    .type('text/html; charset=utf-8')
    .send((built ?? notBuilt).replaceAll(NONCE_PLACE, nonce))
}

async function readPage(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

const notBuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Einmal</title>
<p>The office runs, and its screens have not been built: start it with <code>npm start</code>, or build them with
<code>npm run build:web</code>, and load this page again.</p>
</html>
`
