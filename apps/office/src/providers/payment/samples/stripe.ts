import type { ReturnFact, ReturnKind } from '../../../facts/index.ts'
import type { Delivery } from '../../provider.ts'
import { signStripeDelivery } from '../sign.ts'
import {
  type HowToSend,
  type ProviderSamples,
  type RefundContent,
  type ReturnSample,
  SAMPLE_NOW_MS,
  type SampleContent,
  sampleContent,
} from './samples.ts'

const secrets = { current: 'whsec_sampleCurrent4Zq7', former: 'whsec_sampleFormer9Kd2' }

function signed(body: Buffer, how: HowToSend = {}): Delivery {
  const nowMs = how.nowMs ?? SAMPLE_NOW_MS
  const parts = (how.secrets ?? [secrets.current]).map(
    (secret) => signStripeDelivery({ body, secret, nowMs })['stripe-signature']?.split(',')[1] ?? '',
  )
  if (how.unknownScheme === true) parts.push('v0=ffff')
  return { headers: { 'stripe-signature': [`t=${Math.floor(nowMs / 1000)}`, ...parts].join(',') }, body }
}

/** A charge shows all that an event can carry: payer, text, and the payment intent as the key. */
function paid(content: SampleContent, how?: HowToSend): Delivery {
  const text = `{"id":${JSON.stringify(content.eventId)},"object":"event","api_version":"2026-02-25","created":1789999990,
 "livemode":true,"pending_webhooks":${content.note.length},"type":"charge.succeeded","data":{"object":{
 "id":"ch_sample","object":"charge","payment_intent":${JSON.stringify(content.paymentId)},"paid":true,"captured":true,
 "status":"succeeded","amount":${content.amount},"amount_captured":${content.amount},
 "currency":${JSON.stringify(content.currency.toLowerCase())},"description":${JSON.stringify(content.note)},
 "billing_details":{"name":${JSON.stringify(content.payerName)},"email":"payer@example.test"},
 "metadata":{"invoice":${JSON.stringify(content.invoice)},"note":${JSON.stringify(content.note)}}}}}`
  return signed(Buffer.from(text), how)
}

function refunded(content: RefundContent, how?: HowToSend): Delivery {
  const text = `{"id":${JSON.stringify(content.eventId)},"object":"event","api_version":"2026-02-25","created":1789999990,
 "livemode":true,"pending_webhooks":${content.note.length},"type":"refund.created","data":{"object":{
 "id":${JSON.stringify(content.refundId)},"object":"refund","charge":"ch_sample","balance_transaction":"txn_sample",
 "payment_intent":${JSON.stringify(content.paymentId)},"status":"succeeded","amount":${content.amount},
 "currency":${JSON.stringify(content.currency.toLowerCase())},"reason":"requested_by_customer",
 "metadata":{"note":${JSON.stringify(content.note)}}}}}`
  return signed(Buffer.from(text), how)
}

function body(type: string, object: Record<string, unknown>): string {
  return JSON.stringify({
    id: sampleContent.eventId,
    object: 'event',
    api_version: '2026-02-25.clover',
    created: 1789999990,
    livemode: true,
    type,
    data: { object },
  })
}

/** A movement of 15.00 EUR of the payment `pi_i`, told at the time of `body`. */
function moved(kind: ReturnKind, externalId: string, returnId = externalId, how: Partial<ReturnFact> = {}): ReturnFact {
  return {
    type: 'return',
    kind,
    source: 'stripe',
    externalId,
    returnId,
    original: { source: 'stripe', externalId: 'pi_i' },
    amount: { amountMinor: 1500n, currency: 'EUR' },
    occurredAt: new Date(1789999990_000),
    ...how,
  }
}

const charge = { id: 'ch_i', object: 'charge', payment_intent: 'pi_i', amount: 1500, currency: 'eur', paid: true }
const session = { id: 'cs_i', object: 'checkout.session', payment_intent: 'pi_i', amount_total: 1500, currency: 'eur' }
const refund = { id: 're_i', object: 'refund', payment_intent: 'pi_i', charge: 'ch_i', amount: 1500, currency: 'eur' }
const dispute = { id: 'du_i', object: 'dispute', payment_intent: 'pi_i', charge: 'ch_i', amount: 1500, currency: 'eur' }
const intent = { id: 'pi_i', object: 'payment_intent', amount: 1500, amount_received: 0, currency: 'eur' }

/** As Stripe writes them: the fee beside the amount and not in it. */
const taken = { id: 'txn_1', amount: -1500, currency: 'eur', created: 1789990001, fee: 1500, net: -3000 }
const given = { id: 'txn_2', amount: 1500, currency: 'eur', created: 1789990002, fee: -1500, net: 3000 }
const takenAgain = { id: 'txn_3', amount: -1500, currency: 'eur', created: 1789990003, fee: 0, net: -1500 }
const chargeback = moved('chargeback', 'txn_1', 'du_i', { occurredAt: new Date(1789990001_000) })
const reversal = moved('chargeback_reversal', 'txn_2', 'du_i', { occurredAt: new Date(1789990002_000) })
const chargebackAgain = moved('chargeback', 'txn_3', 'du_i', { occurredAt: new Date(1789990003_000) })

function disputed(step: string, transactions: readonly unknown[], facts: readonly ReturnFact[]): ReturnSample {
  const type = `charge.dispute.${step}`
  const title = `${type} with ${transactions.length} movements`
  return {
    title,
    body: body(type, { ...dispute, balance_transactions: transactions }),
    kind: 'payment.disputed',
    facts,
  }
}

const returns: readonly ReturnSample[] = [
  ...['refund.created', 'refund.updated', 'charge.refund.updated'].map((type) => ({
    title: `${type}, succeeded`,
    body: body(type, { ...refund, status: 'succeeded' }),
    kind: 'payment.refunded',
    facts: [moved('refund', 're_i')],
  })),
  ...['refund.failed', 'refund.updated', 'charge.refund.updated', 'refund.created'].map((type) => ({
    title: `${type}, failed`,
    body: body(type, { ...refund, status: 'failed', failure_reason: 'expired_or_canceled_card' }),
    kind: 'payment.refund_failed',
    facts: [moved('refund_reversal', 're_i')],
  })),
  {
    title: 'refund.updated, canceled',
    body: body('refund.updated', { ...refund, status: 'canceled', failure_reason: 'merchant_request' }),
    kind: 'payment.refund_failed',
    facts: [moved('refund_reversal', 're_i')],
  },
  {
    title: 'charge.refunded',
    body: body('charge.refunded', { ...charge, amount: 9000, amount_captured: 9000, amount_refunded: 1500 }),
    kind: 'payment.refund_total',
    facts: [moved('refund_total', 'pi_i/total/1500', 'total')],
  },
  disputed('created', [taken], [chargeback]),
  disputed('funds_withdrawn', [taken], [chargeback]),
  disputed('funds_reinstated', [taken, given], [chargeback, reversal]),
  disputed('closed', [taken, given], [chargeback, reversal]),
  disputed('updated', [taken, given, takenAgain], [chargeback, reversal, chargebackAgain]),
  disputed('funds_withdrawn', [taken, given, takenAgain], [chargeback, reversal, chargebackAgain]),
]

export const samples: ProviderSamples = {
  secrets,
  settings: (webhookSecrets) => ({ webhookSecrets }),
  paid,
  refunded,
  signed,
  returns,
  interim: [
    body('payment_intent.created', { ...intent, status: 'requires_payment_method' }),
    body('payment_intent.requires_action', { ...intent, status: 'requires_action' }),
    body('payment_intent.processing', { ...intent, status: 'processing' }),
    body('payment_intent.amount_capturable_updated', { ...intent, status: 'requires_capture' }),
    body('payment_intent.payment_failed', { ...intent, status: 'requires_payment_method' }),
    body('payment_intent.canceled', { ...intent, status: 'canceled' }),
    body('charge.succeeded', { ...charge, captured: false, amount_captured: 0 }),
    body('charge.succeeded', { ...charge, paid: false, captured: true }),
    body('charge.captured', { ...charge, captured: true, amount_captured: 700 }),
    body('charge.failed', { ...charge, paid: false }),
    body('checkout.session.completed', { ...session, payment_status: 'unpaid' }),
    body('checkout.session.completed', { ...session, payment_status: 'no_payment_required' }),
    body('checkout.session.expired', { ...session, payment_status: 'unpaid' }),
    body('checkout.session.async_payment_failed', { ...session, payment_status: 'unpaid' }),
    body('refund.created', { ...refund, status: 'pending' }),
    body('refund.updated', { ...refund, status: 'requires_action' }),
    body('charge.refund.updated', { ...refund, status: 'pending' }),
    body('charge.refunded', { ...charge, captured: true, amount_refunded: 0 }),
    body('charge.dispute.created', { ...dispute, status: 'warning_needs_response', balance_transactions: [] }),
    body('charge.dispute.updated', { ...dispute, status: 'warning_under_review' }),
    body('charge.dispute.closed', { ...dispute, status: 'warning_closed', balance_transactions: null }),
  ],
  requiredHeaders: ['stripe-signature'],
}
