import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { createApp } from '../app.ts'
import { type Config, readConfig } from '../config.ts'
import { readDemoFile, writeDemoFile } from '../demo/demo-file.ts'
import { type SeedParts, seedDemo } from '../demo/seed.ts'
import { createDoor, hasOrganization, setUpLink } from '../modules/members/index.ts'
import { createDatabase, createPool } from '../platform/database.ts'
import { armFault } from '../platform/fault-points.ts'
import { createLog } from '../platform/log.ts'
import { createMailer } from '../platform/mail.ts'
import { startWorker } from '../worker/index.ts'
import { Address } from './address.ts'
import { type Command, exitCodes, type Surroundings } from './command.ts'
import { wordsFor } from './failure.ts'
import { openServerDatabase } from './office-database.ts'

export const command: Command = {
  name: 'start',
  usage: [''],
  about: [
    'Starts the office, as npm start does: its database if none is configured, migrations, and the server.',
    'Ctrl-C or SIGTERM answers what has come in, and stops. Settings stand in docs/operations.md.',
  ],
  options: {},
  wordsMax: 0,
  async run(_given, surroundings) {
    await runOffice(surroundings)
    return exitCodes.done
  },
}

/** Runs an office in this process until it is told to stop, and ends the process then: 0 after a clean stop, else 1. */
export async function runOffice(surroundings: Surroundings): Promise<void> {
  const { note, exit } = surroundings
  /** Everything that was started, in the order in which it has to be stopped. */
  const stops: (() => Promise<unknown>)[] = []
  let isStopping = false
  /** Answers what has come in, lets no new work begin, and stops the database last. */
  const stop = () => {
    if (isStopping) return
    isStopping = true
    stopAll(stops).then(
      () => exit(0),
      (error: unknown) => {
        note(String(error))
        exit(1)
      },
    )
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  stopWithParent(stop)
  try {
    await start(stops, surroundings)
  } catch (error) {
    if (isStopping) return
    isStopping = true
    const { message, details } = wordsFor(error)
    note(`Einmal cannot start. ${message}`)
    // What nobody foresaw comes with the place where it happened.
    if (details !== null) note(details)
    for (const each of stops) await each().catch(() => undefined)
    exit(1)
  }
}

async function stopAll(stops: readonly (() => Promise<unknown>)[]): Promise<void> {
  for (const each of stops) await each()
}

async function start(stops: (() => Promise<unknown>)[], { print, clock, newId }: Surroundings): Promise<void> {
  const config = readConfig()
  armFault(config.fault)
  const log = createLog(config.logLevel)
  const database = await openServerDatabase(config, print, (stop) => stops.unshift(stop))
  const { databaseUrl, isOwner, secretKey } = database
  const onIdleError = (error: Error) => log.warn({ err: error }, 'an idle database connection broke')
  const db = createDatabase({ url: databaseUrl, role: 'einmal_office', onIdleError })
  const doorPool = createPool({ url: databaseUrl, role: 'einmal_auth', maxConnections: 4, onIdleError })
  const address = new Address(config)
  const sendMail = config.mail === null ? null : createMailer(config.mail)
  const door = createDoor({ pool: doorPool, secretKey, address, sendMail, log })
  stops.unshift(
    () => db.close(),
    () => door.db.close(),
  )
  const { trustedProxies } = config
  const { http, pipeline } = await createApp({ db, door, clock, newId, secretKey, log, trustedProxies })
  const worker = startWorker({ db, clock, newId, log })
  stops.unshift(
    together(closerOf(http), () => worker.stop()),
    () => pipeline.drain(),
    () => door.drain(),
  )
  await http.listen({ host: config.host, port: config.port })
  const { port } = http.server.address() as AddressInfo
  const url = `http://${config.host === '0.0.0.0' ? 'localhost' : config.host}:${port}`
  address.learn(port)
  if (config.demo && isOwner) await prepareDemo({ db, door, clock, newId, secretKey }, config, url, print)
  if (!(await hasOrganization(db))) {
    print(`Nobody is here yet. This link makes the first organisation and its owner, once: ${setUpLink(door)}`)
  }
  print(`Einmal runs at ${url}`)
}

/** One step of the end: what is in it ends at the same time, and none of it waits for the other. */
function together(...steps: readonly (() => Promise<unknown>)[]): () => Promise<unknown> {
  return () => Promise.all(steps.map((step) => step()))
}

async function prepareDemo(
  parts: SeedParts,
  config: Config,
  url: string,
  print: (line: string) => void,
): Promise<void> {
  const known = await readDemoFile(config.dataDir)
  if (known === null) {
    const demo = await seedDemo(parts, url)
    await writeDemoFile(config.dataDir, demo)
    print(
      `Demo organisation made. Sign in as ${demo.owner.email}; the password, an API key and the addresses of senders`,
    )
    print(`stand in ${join(config.dataDir, 'demo.json')}`)
  } else if (known.url !== url) {
    await writeDemoFile(config.dataDir, { ...known, url })
  }
}

/** How often, and how long at most, the end waits for connections. */
const SWEEP_EVERY_MS = 20
const CLOSE_MAX_MS = 10_000

/**
 * Answers what is in flight and waits for nothing else. Left to itself, the end would wait for every connection: for one
 * that its sender keeps for the next request after the last answer, and for one that a browser has opened in advance.
 */
function closerOf(http: FastifyInstance): () => Promise<void> {
  const sockets = new Set<Socket>()
  http.server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return async () => {
    const sweep = setInterval(() => {
      http.server.closeIdleConnections()
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    }, SWEEP_EVERY_MS)
    const giveUp = setTimeout(() => http.server.closeAllConnections(), CLOSE_MAX_MS)
    try {
      await http.close()
    } finally {
      clearInterval(sweep)
      clearTimeout(giveUp)
    }
  }
}

/** npm may be killed without passing it on; a server without its starter would keep the port. */
function stopWithParent(stop: () => void): void {
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) stop()
  }, 500).unref()
}
