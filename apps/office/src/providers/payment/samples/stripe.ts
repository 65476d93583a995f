import type { Delivery } from '../../provider.ts'
import { signStripeDelivery } from '../sign.ts'
import { type HowToSend, type ProviderSamples, SAMPLE_NOW_MS, type SampleContent } from './samples.ts'

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

function body(type: string, object: Record<string, unknown>): string {
  return JSON.stringify({
    id: 'evt_interim',
    object: 'event',
    created: 1789999990,
    livemode: true,
    type,
    data: { object },
  })
}

const charge = { id: 'ch_i', object: 'charge', payment_intent: 'pi_i', amount: 1500, currency: 'eur', paid: true }
const session = { id: 'cs_i', object: 'checkout.session', payment_intent: 'pi_i', amount_total: 1500, currency: 'eur' }
const intent = { id: 'pi_i', object: 'payment_intent', amount: 1500, amount_received: 0, currency: 'eur' }

export const samples: ProviderSamples = {
  secrets,
  settings: (webhookSecrets) => ({ webhookSecrets }),
  paid,
  signed,
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
  ],
  requiredHeaders: ['stripe-signature'],
}
