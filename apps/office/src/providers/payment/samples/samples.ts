import type { ReturnFact } from '../../../facts/index.ts'
import type { Delivery } from '../../provider.ts'

/** What the conformance test must be able to say in every provider's language. */
export interface SampleContent {
  readonly eventId: string
  readonly paymentId: string
  /** The amount as the JSON token that stands in the body. */
  readonly amount: string
  readonly currency: string
  readonly invoice: string
  readonly payerName: string
  /** Text and counters that change nothing about the money. */
  readonly note: string
}

/** What it must be able to say of money that goes back. */
export interface RefundContent extends SampleContent {
  readonly refundId: string
}

/** A type of returned money, with all that it has to become. */
export interface ReturnSample {
  readonly title: string
  readonly body: string
  /** Our word for the step. */
  readonly kind: string
  readonly facts: readonly ReturnFact[]
}

export interface HowToSend {
  /** The secrets to sign with, one signature each, in this order. */
  readonly secrets?: readonly string[]
  readonly nowMs?: number
  /** Adds a signature of a scheme that receivers must pass over. */
  readonly unknownScheme?: boolean
}

/** Samples beside each provider; bodies and secrets are invented. */
export interface ProviderSamples {
  readonly secrets: { readonly current: string; readonly former: string }
  /** Settings as they are stored, before the provider's schema reads them. */
  settings(secrets: readonly string[]): unknown
  /** A genuine payment that arrived. */
  paid(content: SampleContent, how?: HowToSend): Delivery
  /** A genuine refund of such a payment that has succeeded. */
  refunded(content: RefundContent, how?: HowToSend): Delivery
  /** Any bytes, signed as the provider signs. */
  signed(body: Buffer, how?: HowToSend): Delivery
  /** Every type in which money goes back or comes again; their event is `sampleContent.eventId`. */
  readonly returns: readonly ReturnSample[]
  /** Bodies of steps that are not final. */
  readonly interim: readonly string[]
  /** Headers without which nothing can be believed. */
  readonly requiredHeaders: readonly string[]
}

export const SAMPLE_NOW_MS = 1_790_000_000_000

export const sampleContent: SampleContent = {
  eventId: 'evt_sample_0001',
  paymentId: 'pi_sample_0001',
  amount: '119000',
  currency: 'EUR',
  invoice: 'R-2026-0117',
  payerName: 'Olena Bäcker',
  note: 'first',
}
