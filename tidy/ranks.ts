/**
 * The folders of the office in ranks, lowest first. A folder imports from lower ranks only, never from its own rank and
 * never from a higher one. A name ending in `.ts` is a file at the top of `src`.
 */
const ranks: readonly (readonly string[])[] = [
  ['platform'],
  ['facts'],
  ['providers'],
  ['modules/audit'],
  [
    'modules/members',
    'modules/integrations',
    'modules/contacts',
    'modules/review-items',
    'modules/activities',
    'modules/notifications',
    'modules/domain-events',
    'modules/deliveries',
  ],
  ['pipeline'],
  ['modules/money', 'modules/deals', 'modules/register'],
  ['actions'],
  ['demo', 'api', 'inbound', 'web', 'worker', 'doctor', 'config.ts'],
  ['app.ts'],
  ['commands'],
  ['main.ts', 'cli.ts'],
]

/** What the ranks alone would allow and must not be: a module knows facts, and no provider's words. */
export const strangers: readonly { readonly from: RegExp; readonly to: RegExp; readonly instead: string }[] = [
  {
    from: /^modules\//,
    to: /^providers$/,
    instead: 'let the provider make a fact (facts/), and take that',
  },
  {
    from: /^pipeline$/,
    to: /^providers$/,
    instead: 'let inbound ask the provider, and hand the pipeline a ReceivedEvent',
  },
  {
    from: /^doctor$/,
    to: /^(facts|providers|pipeline|actions|modules\/.*)$/,
    instead: 'say in SQL what the rows must add up to: code that the books came from cannot judge them',
  },
]

/** `modules/money/queries.ts` belongs to `modules/money`, `app.ts` to itself. Paths are below `apps/office/src`. */
export function unitOf(path: string): string {
  const parts = path.split('/')
  if (parts.length === 1) return path
  return parts[0] === 'modules' ? `modules/${parts[1]}` : (parts[0] ?? path)
}

/** Undefined for a folder that nobody has ranked. */
export function rankOf(unit: string): number | undefined {
  const rank = ranks.findIndex((units) => units.includes(unit))
  return rank === -1 ? undefined : rank
}
