import { signBody } from '../signature.ts'

/** Signing as the providers do it, for tests, the demo and the tutorial. Pure: the clock is handed in. */

export function signStripeDelivery(delivery: {
  readonly body: string | Buffer
  readonly secret: string
  readonly nowMs: number
}): Record<string, string> {
  const signedAt = Math.floor(delivery.nowMs / 1000)
  const signature = signBody(delivery.secret, `${signedAt}.`, delivery.body, 'hex')
  return { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': `t=${signedAt},v1=${signature}` }
}

/**
 * @param delivery.id left out by a sender without ids, which its integration then has to name by fields.
 * @param delivery.secret `whsec_` and base64.
 */
export function signSandboxDelivery(delivery: {
  readonly id?: string
  readonly body: string | Buffer
  readonly secret: string
  readonly nowMs: number
}): Record<string, string> {
  const signedAt = Math.floor(delivery.nowMs / 1000)
  const key = Buffer.from(delivery.secret.replace(/^whsec_/, ''), 'base64')
  return {
    'content-type': 'application/json; charset=utf-8',
    ...(delivery.id === undefined ? {} : { 'webhook-id': delivery.id }),
    'webhook-timestamp': String(signedAt),
    'webhook-signature': `v1,${signBody(key, `${delivery.id ?? ''}.${signedAt}.`, delivery.body, 'base64')}`,
  }
}
