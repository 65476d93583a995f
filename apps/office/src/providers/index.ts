import { sandbox } from './payment/sandbox.ts'
import { stripe } from './payment/stripe.ts'
import type { PaymentProvider } from './provider.ts'

/**
 * Providers: pure adapters that turn a signed request into events of our own words. No database, no clock, no network.
 *
 * This file is all that other folders import. A new payment provider is one file and one samples file in `payment/`
 * and one line here; the conformance test then demands of it what it demands of all.
 */
export { isUsableId } from './ids.ts'
export { signSandboxDelivery, signStripeDelivery } from './payment/sign.ts'
export type { Capabilities, Delivery, PaymentProvider, Received } from './provider.ts'

/** A provider whose settings are not known here: what `settings` parsed is what `receive` may be given. */
export type AnyPaymentProvider = PaymentProvider<unknown>

const all: readonly AnyPaymentProvider[] = [stripe, sandbox]

/** By source. Without a prototype, because the name is looked up with a piece of a URL: `constructor` is no provider. */
export const paymentProviders: Readonly<Record<string, AnyPaymentProvider>> = Object.assign(
  Object.create(null),
  Object.fromEntries(all.map((provider) => [provider.source, provider])),
)
