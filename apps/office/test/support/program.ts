import { expect } from 'vitest'
import type { Case } from './case-fixture.ts'
import type { InProcessAnswer, InProcessApp } from './in-process-app.ts'
import type { TestOffice } from './office.ts'

/** A program outside that uses the register: each call by itself, or the whole of it. */
export interface Program {
  say(step: string, body: object, headers?: Record<string, string>): Promise<InProcessAnswer>
  reserve(work: object, headers?: Record<string, string>): Promise<InProcessAnswer>
  /** The token of a reservation that has to be there. */
  hold(work: object): Promise<string>
  /** Reserves, does it where it is allowed to, and says so. Returns what it was told when it came. */
  run(
    work: object,
    effect: (reserved: Readonly<Record<string, unknown>>) => object | undefined,
  ): Promise<InProcessAnswer>
}

export function programOf(app: InProcessApp, opened: Case): Program {
  const say = (step: string, body: object, headers: Record<string, string> = {}) =>
    app.post(opened.organization, `/register/${step}`, body, headers)
  const reserve = (work: object, headers: Record<string, string> = {}) => say('reserve', work, headers)
  return {
    say,
    reserve,
    async hold(work) {
      const { status, body } = await reserve(work)
      expect({ status, body }).toMatchObject({ status: 201 })
      return String(body['token'])
    },
    async run(work, effect) {
      const reserved = await reserve(work)
      if (reserved.status !== 201) return reserved
      const done = await say('complete', { token: reserved.body['token'], ...effect(reserved.body) })
      expect(done).toMatchObject({ status: 200 })
      return reserved
    },
  }
}

/** All leases of the organisation end now, as if their time had gone by. */
export async function endLeases({ owner }: TestOffice, { organization: { organizationId } }: Case): Promise<void> {
  await owner.query(
    `update events set lease_until = clock_timestamp() - interval '1 microsecond'
      where organization_id = $1 and state = 'in_progress'`,
    [organizationId],
  )
  await owner.query(`update due_work set due_at = clock_timestamp() where organization_id = $1`, [organizationId])
}

/** Everything in the register of the organisation happened that much longer ago. */
export async function letTimePass({ owner }: TestOffice, { organization }: Case, time: string): Promise<void> {
  await owner.query(
    `update events set first_arrived_at = first_arrived_at - $2::interval, last_arrived_at = last_arrived_at - $2::interval,
      started_at = started_at - $2::interval, finished_at = finished_at - $2::interval where organization_id = $1`,
    [organization.organizationId, time],
  )
}
