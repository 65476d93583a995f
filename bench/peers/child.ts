/** A process of its own that works with one peer: it can be stopped, killed and started again. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { measure } from '../measure.ts'
import type { Measured } from '../report.ts'
import { type Answer, answered, type Event, loadPeer, type Peer, type PeerName, type Settings, told } from './peer.ts'
import { createWork, type Faults, instantWork } from './work.ts'

export interface ChildOrder extends Settings {
  readonly peer: PeerName
  readonly faults: Faults
  /** The target answers at once, without a request. */
  readonly isInstant?: boolean
}

export interface Load {
  readonly count: number
  readonly callers: number
  /** The same name again means the same events. */
  readonly name: string
}

export interface Child {
  /** Never rejects: what is thrown, and a process that dies, are told. */
  call(event: Event): Promise<Answer>
  forget(tenant: string): Promise<void>
  measure(load: Load): Promise<Measured>
  /** Resolves when it has reached its fault, and rejects if it ended without. */
  readonly stopped: Promise<void>
  resume(): void
  /** Ends it at once, as a crash would, and waits for that. */
  kill(): Promise<void>
}

type Reply = { number: number; answer: Answer; measured?: Measured }
type FromChild = { ready: true } | { stopping: true } | Reply
type Request = { event: Event } | { forget: string } | { load: Load }

const dead: Answer = { kind: 'told', word: 'failed', message: 'the process has ended' }

export async function startChild(order: ChildOrder): Promise<Child> {
  const child = fork(import.meta.filename, [JSON.stringify(order)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // What a peer should no longer do is its own affair.
    execArgv: ['--no-deprecation'],
  })
  const ready = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  const waiting = new Map<number, (reply: Omit<Reply, 'number'>) => void>()
  // Most children have no fault to reach.
  stopped.promise.catch(() => undefined)
  const closed = once(child, 'close')
  child.on('message', (message: FromChild) => {
    if ('ready' in message) ready.resolve()
    else if ('stopping' in message) stopped.resolve()
    else waiting.get(message.number)?.(message)
  })
  child.on('error', () => undefined)
  void closed.then(() => {
    ready.reject(new Error(`${order.peer} ended before it was ready`))
    stopped.reject(new Error(`${order.peer} ended before its fault`))
    for (const resolve of waiting.values()) resolve({ answer: dead })
  })
  await ready.promise
  let numbers = 0
  const ask = (asked: Request) =>
    new Promise<Omit<Reply, 'number'>>((resolve) => {
      if (!child.connected) return resolve({ answer: dead })
      numbers += 1
      waiting.set(numbers, resolve)
      child.send({ ...asked, number: numbers })
    })
  return {
    call: async (event) => (await ask({ event })).answer,
    forget: async (tenant) => void (await ask({ forget: tenant })),
    async measure(load) {
      const { answer, measured } = await ask({ load })
      if (measured === undefined) throw new Error(`${order.peer} was not measured: ${JSON.stringify(answer)}`)
      return measured
    },
    stopped: stopped.promise,
    resume: () => void child.kill('SIGCONT'),
    kill: () => end(child, closed),
  }
}

async function end(child: ChildProcess, closed: Promise<unknown>): Promise<void> {
  child.kill('SIGKILL')
  await closed
}

async function run(order: ChildOrder): Promise<void> {
  const say = (message: FromChild) =>
    new Promise<void>((resolve) => process.send?.(message, undefined, undefined, () => resolve()))
  const { targetUrl, kind, faults } = order
  const onStop = () => say({ stopping: true })
  const work = order.isInstant
    ? instantWork
    : createWork({ targetUrl, isSearchable: kind === 'searchable', faults }, onStop)
  const module = await loadPeer(order.peer)
  const peer = await module.open(order, work)
  process.on('message', (message: Request & { number: number }) => {
    void answer(peer, message)
      .catch((error: unknown) => ({ answer: told('failed', error) }))
      .then((reply) => say({ number: message.number, ...reply }))
  })
  // The one who asks is gone.
  process.once('disconnect', () => process.exit())
  await say({ ready: true })
}

async function answer(peer: Peer, request: Request): Promise<Omit<Reply, 'number'>> {
  if ('event' in request) return { answer: await peer.call(request.event) }
  if ('load' in request) return { answer: answered(null), measured: await measureCalls(peer, request.load) }
  await peer.forget?.(request.forget)
  return { answer: answered(null) }
}

function measureCalls(peer: Peer, { count, callers, name }: Load): Promise<Measured> {
  return measure(count, callers, async (index) => {
    const id = `${name}-${index}`
    const told = await peer.call({ tenant: 'acme', source: 'shop', id, amount: 100, reference: id })
    if (told.kind === 'told') throw new Error(`${id}: ${told.word} ${told.message}`)
  })
}

if (process.argv[1] === import.meta.filename) await run(JSON.parse(process.argv[2] ?? ''))
