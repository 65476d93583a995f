/** The caller's own code, the same for every peer: what it does at a target, and where a process may stop on the way. */
import { request } from 'node:http'
import type { Event } from './peer.ts'

/**
 * `begun`: the caller's function has begun. `checked`: all it looks at before its request was looked at. `acted`: the effect
 * is there and the function has not returned.
 */
export type Point = 'begun' | 'checked' | 'acted'

export interface Faults {
  /** Where the process stops or dies, when it passes there first. */
  readonly at?: { readonly point: Point; readonly signal: 'SIGKILL' | 'SIGSTOP' }
  /** How the function goes on after the effect. */
  readonly isLateError?: boolean
  /** For so long from its first call the target cannot be reached: nothing leaves the house. */
  readonly awayMs?: number
}

/** Nothing left the house. */
export class NothingSent extends Error {}

export interface Acting {
  /** What the target is given as key and reference. Without it, all parts of the key that the caller has. */
  readonly targetKey?: string
  /** Asked right before the request leaves. */
  readonly check?: () => Promise<void>
}

export interface Work {
  /** Does the effect at a target outside. */
  act(event: Event, acting?: Acting): Promise<number>
  /** Looks first whether a searchable target has it: what a careful caller does where the peer offers no place for it. */
  lookAndAct(event: Event): Promise<number>
  lookUp(event: Event, targetKey?: string): Promise<number | null>
  /** Does the effect in the database, with one statement. */
  write(event: Event, query: (text: string, values: string[]) => Promise<{ rows: unknown[] }>): Promise<number>
}

export function createWork(
  options: { targetUrl: string; isSearchable: boolean; faults: Faults },
  onStop: () => Promise<void>,
): Work {
  const { targetUrl, isSearchable, faults } = options
  let isFaultMet = false
  let awayUntil: number | null = null
  const pass = async (point: Point) => {
    if (isFaultMet || faults.at?.point !== point) return
    isFaultMet = true
    await onStop()
    process.kill(process.pid, faults.at.signal)
    // The signal comes between two turns of the loop at the latest.
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  const around = async (run: () => Promise<number>) => {
    await pass('begun')
    awayUntil ??= performance.now() + (faults.awayMs ?? 0)
    if (performance.now() < awayUntil) throw new NothingSent('the target cannot be reached')
    const number = await run()
    await pass('acted')
    if (faults.isLateError) throw new Error('late error')
    return number
  }
  const lookUp = async (event: Event, targetKey = targetKeyOf(event)) => {
    const number = await send(targetUrl, 'GET', event.reference, targetKey)
    return number === 0 ? null : number
  }
  const post = async (event: Event, targetKey: string) => {
    await pass('checked')
    return send(targetUrl, 'POST', event.reference, targetKey)
  }
  return {
    lookUp,
    act: (event, { targetKey = targetKeyOf(event), check } = {}) =>
      around(async () => {
        await check?.()
        return post(event, targetKey)
      }),
    lookAndAct: (event) =>
      around(async () => {
        const found = isSearchable ? await lookUp(event) : null
        return found ?? (await post(event, targetKeyOf(event)))
      }),
    write: (event, query) =>
      around(async () => {
        await pass('checked')
        return insertEffect(event, query)
      }),
  }
}

/** A target that answers at once, and one row in the database: what is left is the work of the peer. */
export const instantWork: Work = {
  act: async () => 1,
  lookAndAct: async () => 1,
  lookUp: async () => null,
  write: insertEffect,
}

async function insertEffect(event: Event, query: Parameters<Work['write']>[1]): Promise<number> {
  const { rows } = await query('insert into effects (reference) values ($1) returning number', [event.reference])
  return (rows[0] as { number: number }).number
}

function targetKeyOf({ tenant, source, id }: Event): string {
  return JSON.stringify([tenant, source, id])
}

function send(url: string, method: string, reference: string, targetKey: string): Promise<number> {
  const headers = { 'x-reference': encodeURIComponent(reference), 'idempotency-key': encodeURIComponent(targetKey) }
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (part: string) => {
        text += part
      })
      answer.once('end', () => resolve((JSON.parse(text) as { number: number }).number))
      answer.once('error', reject)
    })
    sent.once('error', reject)
    sent.end()
  })
}
