/**
 * Deals: what may become a sale, with whom, and how far it is.
 * Table: `deals`.
 * Invariants: a deal is with a contact of its own organisation; it is closed while it is won or lost, and then only.
 * Whatever changes a deal locks it first and counts its version up; a move to another stage leaves one line on its time
 * line, and `deal.won` or `deal.lost` where it ends there.
 */
export { changeDeal, createDeal, type DealContext, type DealDraft } from './deals.ts'
export type { DealChange } from './decide-deals.ts'
export { type DealRow, findDeal, listDeals, listDealsInStage, listDealsOfContact, lockDeal } from './queries.ts'
