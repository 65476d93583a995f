/** Handlers that look right, each with one mistake that is made in earnest. */
import { randomUUID } from 'node:crypto'
import { fromPg } from '../../src/adapters/pg.ts'
import { attempt } from '../../src/index.ts'
import { bookEffect, type HandledEvent, inTransaction, pool, referenceOf, requestEffect } from './handled-event.ts'

export { takeOverWithoutOwnerCheck } from './sound-handlers.ts'

export async function lookUpThenInsert(event: HandledEvent): Promise<void> {
  await inTransaction(async (client) => {
    const { rows } = await client.query('select from seen where key = $1', [referenceOf(event)])
    if (rows.length > 0) return
    await client.query('insert into seen values ($1)', [referenceOf(event)])
    await bookEffect(client, event)
  })
}

export async function recordAfterEffect(event: HandledEvent): Promise<void> {
  const { rows } = await pool.query('select from marks where key = $1', [referenceOf(event)])
  if (rows.length > 0) return
  await requestEffect(event)
  await pool.query('insert into marks values ($1) on conflict do nothing', [referenceOf(event)])
}

export async function recordBeforeEffect(event: HandledEvent): Promise<void> {
  const { rowCount } = await pool.query('insert into marks values ($1) on conflict do nothing', [referenceOf(event)])
  if (rowCount === 1) await requestEffect(event)
}

export async function joinedKey(event: HandledEvent): Promise<void> {
  await bookUnder(`${event.account}:${event.id}:${event.kind}`, event)
}

export async function keyWithoutKind(event: HandledEvent): Promise<void> {
  await bookUnder(JSON.stringify([event.account, event.id]), event)
}

/** All right but for the key. */
async function bookUnder(key: string, event: HandledEvent): Promise<void> {
  await inTransaction(async (client) => {
    const { rowCount } = await client.query('insert into marks values ($1) on conflict do nothing', [key])
    if (rowCount === 1) await bookEffect(client, event)
  })
}

const seen = new Set<string>()

export async function setInMemory(event: HandledEvent): Promise<void> {
  if (seen.has(referenceOf(event))) return
  seen.add(referenceOf(event))
  await bookEffect(pool, event)
}

const db = fromPg(pool)

/** All right but for what it does where no answer came: on a target that takes no key, the first may have arrived. */
export async function blindRetry(event: HandledEvent) {
  const key = { source: 'shop', kind: 'label.print', id: referenceOf(event) }
  return attempt(db, key, {
    async perform() {
      return { answer: await requestEffect(event).catch(() => requestEffect(event)) }
    },
  })
}

/** Done once, but every sender is told another number. */
export async function answerOfItsOwn(event: HandledEvent): Promise<{ number: string }> {
  await bookUnder(referenceOf(event), event)
  return { number: randomUUID() }
}

export function neverEnds(): Promise<never> {
  return new Promise(() => undefined)
}
