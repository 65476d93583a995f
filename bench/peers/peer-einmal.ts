/** einmal of this repository: `attempt` for a target outside, `once` for an effect in the database. */
import {
  attempt,
  install,
  KeyError,
  type KeyParts,
  NotSentError,
  type OutsideEffect,
  once,
  purge,
  retentionFor,
} from 'einmal'
import { fromPg } from 'einmal/pg'
import pg from 'pg'
import { type Answer, answered, type Event, type Peer, type Settings, told } from './peer.ts'
import { NothingSent, type Work } from './work.ts'

function openDb(databaseUrl: string) {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 20, pipeline: true } as pg.PoolConfig)
  pool.on('error', () => undefined)
  return { pool, db: fromPg(pool, { memory: true }) }
}

export async function prepare(databaseUrl: string): Promise<void> {
  const { pool, db } = openDb(databaseUrl)
  await install(db)
  await pool.end()
}

export async function open(settings: Settings, work: Work): Promise<Peer> {
  const { kind, keepMs } = settings
  const { pool, db } = openDb(settings.databaseUrl)
  const call = (event: Event) => (kind === 'database' ? callOnce(event) : callAttempt(event, kind))

  async function callOnce(event: Event): Promise<Answer> {
    const result = await once(
      db,
      keyOf(event),
      async (client) => ({ answer: await work.write(event, (text, values) => client.query(text, values)) }),
      settings.isContentCompared ? { fingerprint: `v1:${event.amount}` } : {},
    )
    if (result.outcome === 'done' || result.outcome === 'duplicate') return answered(toNumber(result.answer))
    return told(result.outcome, '')
  }

  async function callAttempt(event: Event, target: 'accepts_key' | 'searchable' | 'neither'): Promise<Answer> {
    const result = await attempt(db, keyOf(event), {
      ...effectAt(event, target, work),
      leaseMs: settings.leaseMs,
      ...(settings.isContentCompared && { fields: { amount: event.amount } }),
    })
    if (result.outcome === 'done' || result.outcome === 'duplicate') return answered(toNumber(result.answer))
    return told(result.outcome, 'error' in result ? result.error.message : '')
  }

  return {
    call: (event) =>
      call(event).catch((error: unknown) => told(error instanceof KeyError ? 'refused' : 'failed', error)),
    async forget(tenant) {
      const retention = retentionFor({ providerRetryMs: keepMs, manualResendMs: 0, longestOutageMs: 0 })
      await purge(db, tenant, { olderThanMs: keepMs, retention })
    },
    close: () => pool.end(),
  }
}

function effectAt(
  event: Event,
  target: 'accepts_key' | 'searchable' | 'neither',
  work: Work,
): OutsideEffect<pg.PoolClient> {
  return {
    target,
    async perform({ idempotencyKey, stillHeld }) {
      try {
        return { answer: await work.act(event, { targetKey: idempotencyKey, check: stillHeld }) }
      } catch (error) {
        throw error instanceof NothingSent ? new NotSentError(error.message) : error
      }
    },
    ...(target === 'searchable' && {
      async lookUp({ idempotencyKey }) {
        const number = await work.lookUp(event, idempotencyKey)
        return number === null ? null : { answer: number }
      },
    }),
  }
}

/** As it came, so that the library has to refuse what is no key. */
function keyOf({ tenant, source, id }: Event): KeyParts {
  return { scope: tenant, source, kind: 'payment.send', id: id as string }
}

function toNumber(answer: unknown): number | null {
  return typeof answer === 'number' ? answer : null
}
