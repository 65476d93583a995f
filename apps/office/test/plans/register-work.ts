import { workOnce } from '../../src/worker/index.ts'
import type { TestOrganization } from '../support/office.ts'
import { apiOf, type Desk } from './work-day.ts'

/** What programs outside do with the register, what people decide about it, and what the worker finds. */
export async function workOnRegister(
  desk: Desk,
  { apiKey, organizationId }: TestOrganization,
  run: string,
): Promise<void> {
  const { office, db, app } = desk
  const api = apiOf(app, apiKey)
  const named = (id: string) => ({ source: 'shop', kind: 'label.print', id: `${id} ${run}` })
  const reserve = async (id: string, more: object = {}) =>
    String((await api.post('/register/reserve', { ...named(id), ...more }))['token'])

  const done = await reserve('done', { content: { amount: 1 } })
  await api.refused('/register/reserve', { ...named('done'), waitSeconds: 0.05 })
  await api.post('/register/heartbeat', { token: done })
  await api.post('/register/complete', { token: done, target: { type: 'label', id: 'L-1' }, answer: { pages: 1 } })
  await api.post('/register/reserve', named('done'))
  await api.post('/register/repeat', { key: named('done'), reason: 'torn' }, { 'idempotency-key': run })

  for (const final of [false, true]) {
    await api.post('/register/fail', { token: await reserve('failed'), error: { code: 'offline' }, final })
  }
  await api.post('/register/unknown', { token: await reserve('unknown') })
  await api.post('/register/resolve', { key: named('unknown'), outcome: 'completed', note: 'seen' })

  const window = { seconds: 300, reason: 'a double click', reviewOn: '2100-01-01' }
  await api.post('/register/reserve', { source: 'form', kind: 'task.create', fields: { text: run }, window })

  await reserve('silent', { target: 'neither' })
  await reserve('stuck', { target: 'accepts_key' })
  const ids = [named('silent').id, named('stuck').id]
  await office.owner.query(
    `update events set lease_until = clock_timestamp() where external_id = any($1) and organization_id = $2`,
    [ids, organizationId],
  )
  await office.owner.query('update due_work set due_at = clock_timestamp() where organization_id = $1', [
    organizationId,
  ])
  await workOnce({ db, clock: office.clock, newId: office.newId })
  const stuck = await api.post('/register/reserve', { ...named('stuck'), target: 'accepts_key' })
  await api.get(`/events/${stuck['eventId']}`)
}
