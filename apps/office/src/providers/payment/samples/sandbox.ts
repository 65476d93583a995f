import type { Delivery } from '../../provider.ts'
import { signSandboxDelivery } from '../sign.ts'
import { type HowToSend, type ProviderSamples, SAMPLE_NOW_MS, type SampleContent, sampleContent } from './samples.ts'

const secrets = {
  current: `whsec_${Buffer.from('a current sample secret, 33 bytes').toString('base64')}`,
  former: `whsec_${Buffer.from('a former sample secret, 32 bytes').toString('base64')}`,
}

function send(id: string, body: Buffer, how: HowToSend = {}): Delivery {
  const nowMs = how.nowMs ?? SAMPLE_NOW_MS
  const signatures = (how.secrets ?? [secrets.current]).map(
    (secret) => signSandboxDelivery({ id, body, secret, nowMs })['webhook-signature'] ?? '',
  )
  if (how.unknownScheme === true) signatures.push('v1a,/////w==')
  return {
    headers: {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(nowMs / 1000)),
      'webhook-signature': signatures.join(' '),
    },
    body,
  }
}

function paid(content: SampleContent, how?: HowToSend): Delivery {
  const text = `{"type":"payment.paid","timestamp":"2026-09-21T14:13:10Z","note":${JSON.stringify(content.note)},"data":{
 "payment":${JSON.stringify(content.paymentId)},"invoice":${JSON.stringify(content.invoice)},
 "amountMinor":${content.amount},"currency":${JSON.stringify(content.currency)},
 "payer":{"name":${JSON.stringify(content.payerName)},"email":"payer@example.test"}}}`
  return send(content.eventId, Buffer.from(text), how)
}

const data = { payment: 'pay_i', invoice: 'R-2026-0117', amountMinor: 1500, currency: 'EUR' }

export const samples: ProviderSamples = {
  secrets,
  settings: (webhookSecrets) => ({ webhookSecrets }),
  paid,
  signed: (body, how) => send(sampleContent.eventId, body, how),
  interim: ['payment.created', 'payment.processing', 'payment.failed'].map((type) => JSON.stringify({ type, data })),
  requiredHeaders: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
}
