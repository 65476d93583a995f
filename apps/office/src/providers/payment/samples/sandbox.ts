import type { ReturnKind } from '../../../facts/index.ts'
import type { Delivery } from '../../provider.ts'
import { signSandboxDelivery } from '../sign.ts'
import {
  type HowToSend,
  type ProviderSamples,
  type RefundContent,
  type ReturnSample,
  SAMPLE_NOW_MS,
  type SampleContent,
  sampleContent,
} from './samples.ts'

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

function refunded(content: RefundContent, how?: HowToSend): Delivery {
  const text = `{"type":"payment.refunded","timestamp":"2026-09-21T14:13:10Z","note":${JSON.stringify(content.note)},"data":{
 "refund":${JSON.stringify(content.refundId)},"payment":${JSON.stringify(content.paymentId)},
 "amountMinor":${content.amount},"currency":${JSON.stringify(content.currency)}}}`
  return send(content.eventId, Buffer.from(text), how)
}

const data = { payment: 'pay_i', invoice: 'R-2026-0117', amountMinor: 1500, currency: 'EUR' }

function returned(
  type: string,
  names: Record<string, unknown>,
  kind: ReturnKind,
  externalId: string,
  returnId: string,
): ReturnSample {
  const money = { payment: 'pay_i', amountMinor: 1500, currency: 'EUR' }
  return {
    title: `${type} ${JSON.stringify(names)}`,
    body: JSON.stringify({ type, timestamp: '2026-09-21T14:13:10Z', data: { ...names, ...money } }),
    kind: type,
    facts: [
      {
        type: 'return',
        kind,
        source: 'sandbox',
        externalId,
        returnId,
        original: { source: 'sandbox', externalId: 'pay_i' },
        amount: { amountMinor: 1500n, currency: 'EUR' },
        occurredAt: new Date('2026-09-21T14:13:10Z'),
      },
    ],
  }
}

const returns: readonly ReturnSample[] = [
  returned('payment.refunded', { refund: 're_1' }, 'refund', 're_1', 're_1'),
  returned('payment.refund_failed', { refund: 're_1' }, 'refund_reversal', 're_1', 're_1'),
  returned('payment.refund_total', {}, 'refund_total', 'pay_i/total/1500', 'total'),
  returned('payment.charged_back', { dispute: 'dp_1', movement: 'mv_1' }, 'chargeback', 'mv_1', 'dp_1'),
  returned('payment.charged_back', { dispute: 'dp_1' }, 'chargeback', 'dp_1', 'dp_1'),
  returned('payment.chargeback_reversed', { dispute: 'dp_1', movement: 'mv_2' }, 'chargeback_reversal', 'mv_2', 'dp_1'),
  returned('payment.chargeback_reversed', { dispute: 'dp_1', movement: null }, 'chargeback_reversal', 'dp_1', 'dp_1'),
]

export const samples: ProviderSamples = {
  secrets,
  settings: (webhookSecrets) => ({ webhookSecrets }),
  paid,
  refunded,
  returns,
  signed: (body, how) => send(sampleContent.eventId, body, how),
  interim: ['payment.created', 'payment.processing', 'payment.failed'].map((type) => JSON.stringify({ type, data })),
  requiredHeaders: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
}
