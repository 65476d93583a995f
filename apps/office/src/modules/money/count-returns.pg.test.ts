import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.ts'
import type { ReturnKind } from '../../facts/index.ts'
import { countReturns } from './count-returns.ts'

let database: TestDatabase
let owner: pg.Client

beforeAll(async () => {
  database = await createTestDatabase()
  owner = new pg.Client({ connectionString: database.ownerUrl })
  await owner.connect()
})

afterAll(async () => {
  await owner?.end()
  await database?.drop()
})

const kinds: readonly ReturnKind[] = [
  'refund',
  'refund_reversal',
  'refund_total',
  'chargeback',
  'chargeback_reversal',
  'correction',
]

const movements = fc.array(
  fc.record({
    source: fc.constantFrom('stripe', 'manual'),
    kind: fc.constantFrom(...kinds),
    returnId: fc.constantFrom('a', 'b', 'c'),
    amountMinor: fc.bigInt({ min: 1n, max: 1_000n }),
    currency: fc.constantFrom('EUR', 'EUR', 'EUR', 'USD'),
  }),
  { maxLength: 10 },
)

test('the office and the policy of the database count what went back alike, whatever the movements', async () => {
  await fc.assert(
    fc.asyncProperty(movements, async (all) => {
      const organizationId = randomUUID()
      const paymentId = randomUUID()
      await owner.query(
        `insert into payment_returns (id, organization_id, source, external_id, kind, return_id, original_id, original_source,
           event_id, amount_minor, currency, recorded_at)
         select gen_random_uuid(), $1, u.source, gen_random_uuid()::text, u.kind, u.return_id, $2, 'stripe', gen_random_uuid(),
           u.amount, u.currency, now()
         from unnest($3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[]) as u (source, kind, return_id, amount, currency)`,
        [
          organizationId,
          paymentId,
          all.map(({ source }) => source),
          all.map(({ kind }) => kind),
          all.map(({ returnId }) => returnId),
          all.map(({ amountMinor }) => amountMinor),
          all.map(({ currency }) => currency),
        ],
      )
      const { rows } = await owner.query<{ counted: string }>(
        `select returned_of($2, 'stripe', $1, 'EUR')::text as counted`,
        [organizationId, paymentId],
      )
      const euros = all.filter(({ currency }) => currency === 'EUR')
      expect(rows[0]?.counted).toBe(String(countReturns(euros, 'stripe')))
    }),
    { numRuns: 300 },
  )
})
