import type { z } from 'zod'
import type { ReceivedEvent } from '../facts/index.ts'

/** One request as it arrived. Header names are lower case; `body` is the exact bytes that were signed. */
export interface Delivery {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Buffer
}

/**
 * What an adapter makes of a delivery. It is a value for every input: an adapter never throws, whatever the bytes.
 *
 * `rejected` is a sender we cannot believe: nothing is stored under names it chose. `ignored` changes nothing and
 * reserves nothing, so that a later version of the adapter can still book a resend.
 */
export type Received =
  | { readonly outcome: 'rejected'; readonly reason: string }
  | { readonly outcome: 'handshake'; readonly answer: { readonly contentType: string; readonly body: string } }
  | { readonly outcome: 'ignored'; readonly reason: string }
  | { readonly outcome: 'events'; readonly events: readonly ReceivedEvent[] }

/** What an adapter can promise about its provider; data, so that screens and workers can ask. */
export interface Capabilities {
  /** Ids are unique over all of the provider's accounts, so the account is no part of the key. */
  readonly idsAreGlobal: boolean
  /** The provider keeps an idempotency key that we send. */
  readonly acceptsIdempotencyKey: boolean
  /** The provider can be asked whether a thing exists. */
  readonly canLookUp: boolean
  /** Kinds of the events that it books. */
  readonly delivers: readonly string[]
}

/**
 * One constant per provider, in the file of its name, `satisfies PaymentProvider<…>`. Pure: no database, no clock, no
 * network.
 */
export interface PaymentProvider<Settings> {
  /** Stable lower-case name, part of every key, never renamed. */
  readonly source: string
  readonly label: string
  readonly docsUrl: string
  /** Secrets and options of one integration; fields with `.meta({ secret: true })` are stored encrypted. */
  readonly settings: z.ZodType<Settings>
  readonly capabilities: Capabilities
  /** Headers kept with a delivery, because the body alone does not name its event. Never one that authenticates. */
  readonly keptHeaders: readonly string[]
  /** Verifies, and then reads as `reread` does. `nowMs` is Unix time in milliseconds. */
  receive(delivery: Delivery, settings: Settings, nowMs: number): Received
  /**
   * Reads a delivery that was verified when it arrived, with its kept headers alone: never `rejected`, however old its
   * signature is by now. A newer adapter may so understand what an older one had to keep.
   *
   * Never call it for bytes that nobody verified.
   */
  reread(delivery: Delivery, settings: Settings): Received
}
