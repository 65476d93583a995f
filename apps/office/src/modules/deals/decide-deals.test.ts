import { describe, expect, test } from 'vitest'
import { type DealChange, decideDealChange } from './decide-deals.ts'
import type { DealRow } from './queries.ts'

const now = new Date('2026-03-01T12:00:00Z')
const earlier = new Date('2026-02-01T12:00:00Z')

const deal: DealRow = {
  id: 'deal-1',
  organization_id: 'organization-1',
  title: 'Website',
  contact_id: 'contact-1',
  stage: 'proposal',
  currency: 'EUR',
  amount_minor: 10_000n,
  expected_on: '2026-04-01',
  version: 3,
  created_at: earlier,
  closed_at: null,
}

function decide(change: DealChange, of: Partial<DealRow> = {}) {
  return decideDealChange({ ...deal, ...of }, change, 'event-1', { now, newId: () => 'new-id' })
}

describe('a deal', () => {
  test.each(['won', 'lost'] as const)(
    'that is %s is closed now, with one line and one event for that version',
    (stage) => {
      const { columns, consequences } = decide({ stage })
      expect(columns).toMatchObject({ stage, closed_at: now })
      expect(consequences.activities).toMatchObject([
        { key: 'stage:4', type: 'deal.stage_changed', data: { before: 'proposal', after: stage } },
      ])
      expect(consequences.domainEvents).toMatchObject([
        {
          type: `deal.${stage}`,
          key: 'deal-1:4',
          subject: { type: 'deal', id: 'deal-1' },
          data: { contactId: 'contact-1', amountMinor: 10_000, currency: 'EUR' },
        },
      ])
    },
  )

  test('that leaves its end is open again, and an event for nobody', () => {
    const { columns, consequences } = decide({ stage: 'qualified' }, { stage: 'lost', closed_at: earlier })
    expect(columns.closed_at).toBeNull()
    expect(consequences.activities).toHaveLength(1)
    expect(consequences.domainEvents).toEqual([])
  })

  test('that stays where it is keeps its end and makes no line, whatever else changes', () => {
    const change = { stage: 'won', amount: { amountMinor: 5n, currency: 'USD' } } as const
    const { columns, isChanged, consequences } = decide(change, { stage: 'won', closed_at: earlier })
    expect(isChanged).toBe(true)
    expect(columns).toMatchObject({ closed_at: earlier, amount_minor: 5n, currency: 'USD' })
    expect(consequences).toMatchObject({ activities: [], domainEvents: [] })
  })

  test.each<[string, DealChange]>([
    ['nothing', {}],
    ['its title', { title: 'Website' }],
    ['its amount', { amount: { amountMinor: 10_000n, currency: 'EUR' } }],
    ['its day, contact and stage', { expectedOn: '2026-04-01', contactId: 'contact-1', stage: 'proposal' }],
  ])('that is told what it knows, %s, does not change', (_what, change) => {
    expect(decide(change).isChanged).toBe(false)
  })

  test('loses the day on which it is expected by null, and keeps it where nothing is said', () => {
    expect(decide({ expectedOn: null }).columns.expected_on).toBeNull()
    expect(decide({ title: 'Shop' }).columns.expected_on).toBe('2026-04-01')
  })
})
