import { createHash } from 'node:crypto'
import type { workDecision } from '@einmal/contract'
import type { Held } from 'einmal'
import type { z } from 'zod'
import { findEvent, resolveWork, type WorkDecision, type WorkParts } from '../modules/register/index.ts'
import type { Tx } from '../platform/database.ts'
import { AppError } from '../platform/errors.ts'
import type { Act, WriteContext } from './api-parts.ts'

/** What a token says: whose attempt it is, and for how long it was reserved. */
export interface Ticket {
  readonly held: Held
  readonly leaseMs: number
}

const TOKEN_BYTES = 40
const LEASE_MAX_MS = 86_400_000

/**
 * A reservation as a text for its program: event, holder, attempt and lease. The register compares all of it. Nobody outside the
 * organisation can make one that counts: the organisation is not in it, and comes from the API key.
 */
export function toToken({ held, leaseMs }: Ticket): string {
  const bytes = Buffer.alloc(TOKEN_BYTES)
  bytes.set(bytesOf(held.eventId), 0)
  bytes.set(bytesOf(held.holder), 16)
  bytes.writeUInt32BE(held.attempt, 32)
  bytes.writeUInt32BE(leaseMs, 36)
  return bytes.toString('base64url')
}

/** The token of somebody else's organisation is one of an event that is not there. Throws `token_invalid` for any other text. */
export function readToken(organizationId: string, token: string): Ticket {
  const bytes = Buffer.from(token, 'base64url')
  const isToken = bytes.length === TOKEN_BYTES && bytes.toString('base64url') === token
  const attempt = isToken ? bytes.readUInt32BE(32) : 0
  const leaseMs = isToken ? bytes.readUInt32BE(36) : 0
  if (attempt === 0 || attempt > 2 ** 31 - 1 || leaseMs === 0 || leaseMs > LEASE_MAX_MS) {
    throw new AppError('token_invalid', 'Send the token as /register/reserve answered it.')
  }
  const held = {
    ...{ scope: organizationId, attempt },
    ...{ eventId: idOf(bytes.subarray(0, 16)), holder: idOf(bytes.subarray(16, 32)) },
  }
  return { held, leaseMs }
}

function bytesOf(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

function idOf(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** A UUID that stands for these texts, each apart from the others (RFC 9562, version 8). */
export function idFrom(texts: readonly string[]): string {
  const digest = createHash('sha256').update(JSON.stringify(texts)).digest().subarray(0, 16)
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x80
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80
  return idOf(digest)
}

export function workDecisionOf({ outcome, target, answer, note }: z.infer<typeof workDecision>): WorkDecision {
  return { outcome, note, ...(target === undefined ? {} : { target }), ...(answer === undefined ? {} : { answer }) }
}

/** Settles an event, as an act of the API. */
export async function resolveAct(
  tx: Tx,
  parts: WorkParts,
  context: WriteContext,
  eventId: string,
  decision: z.infer<typeof workDecision>,
): Promise<Act> {
  await resolveWork(tx, parts, context, eventId, workDecisionOf(decision))
  const row = await findEvent(tx, context.organizationId, eventId)
  return {
    status: 200,
    body: { id: eventId, state: row?.state },
    subject: { type: 'event', id: eventId },
    data: decision,
  }
}
