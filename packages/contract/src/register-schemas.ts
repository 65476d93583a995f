import { z } from 'zod'
import { event, id, text, time, workDecision, workTarget } from './schemas.ts'

/** Shapes of the register for programs outside: what an automation sends, and what it is answered. */

/** What an automation calls the thing that it is about to do. */
const workName = {
  source: text(180).describe('The system that names the thing, such as shop. Stored as external/shop'),
  kind: text(190).describe('The step, in words of your own, such as label.print'),
  id: z.unknown().meta({
    description:
      'The id that the source gave it: text, a whole number, or several fields that are one id together. A bare time, an empty value and what a program prints for nothing are refused',
    oneOf: [{ type: 'string' }, { type: 'integer' }, { type: 'object', additionalProperties: true }],
  }),
  generation: z
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe('2 and more: the thing done again on purpose, as /register/repeat says'),
}

/** Of the examples, which tell one story. */
const eventId = '0198c5a2-7d1e-7c3a-9f00-0d7f5a3c1b2e'

const token = text(200).describe('From the answer to /register/reserve')
const seconds = (min: number, max: number) => z.number().min(min).max(max)

export const reserveInput = z
  .strictObject({
    ...workName,
    id: workName.id.optional(),
    fields: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('In place of an id, with `window`: what stands for it where the source has none'),
    window: z
      .strictObject({
        seconds: seconds(1, 31_536_000).describe('How long the same fields are the same thing, from the first on'),
        reason: text(500).describe('Why that is right for your business'),
        reviewOn: z.iso.date().describe('From this day on it is refused, until somebody has looked at it again'),
        version: text(50).default('1').describe('Another one after each change of this policy'),
      })
      .optional(),
    target: z
      .enum(['accepts_key', 'searchable', 'neither'])
      .default('neither')
      .describe(
        'What the other system offers against doing a thing twice: it takes `idempotencyKey`; it can be searched for it; neither',
      ),
    leaseSeconds: seconds(1, 86_400)
      .default(60)
      .describe('How long nobody else may take it; longer than the work needs'),
    waitSeconds: seconds(0, 30)
      .default(0)
      .describe('How long to wait where somebody is at it, instead of being told at once'),
    fingerprint: text(500)
      .optional()
      .describe('Content that matters, as one text: another one under the same key is refused'),
    content: z
      .record(z.string(), z.unknown())
      .optional()
      .describe(
        'The same, field by field, in place of a fingerprint: the refusal then names the fields. Only digests are stored',
      ),
  })
  .meta({
    id: 'ReserveInput',
    examples: [
      { source: 'shop', kind: 'label.print', id: 'order-98421', target: 'accepts_key', leaseSeconds: 120 },
      {
        source: 'contact-form',
        kind: 'task.create',
        fields: { email: 'kim@example.com', message: 'Please call back' },
        window: { seconds: 300, reason: 'a double click', reviewOn: '2030-01-01' },
      },
    ],
  })

const workAnswer = {
  eventId: id,
  attempt: z.int(),
  copies: z.int().describe('How often it was reserved, the first time included'),
}

export const reservedWork = z
  .object({
    state: z.literal('in_progress'),
    duplicate: z.literal(false),
    ...workAnswer,
    token: z.string().describe('Proves that the work is yours; for complete, fail, unknown and heartbeat'),
    leaseUntil: time,
    idempotencyKey: z
      .string()
      .describe('To hand to the other system, or to write where it can be searched for. The same for every attempt'),
    mustLookUp: z
      .boolean()
      .describe('An earlier attempt may have done it: search the other system before doing anything'),
    key: z
      .object({ source: z.string(), kind: z.string(), id: z.string(), generation: z.int() })
      .describe('What it is called, as /register/resolve and /register/repeat take it'),
  })
  .meta({
    id: 'ReservedWork',
    examples: [
      {
        state: 'in_progress',
        duplicate: false,
        eventId,
        attempt: 1,
        copies: 1,
        token: 'AZjFon0efDqfAA1_WjwbLg…',
        leaseUntil: '2026-12-01T10:02:00.000Z',
        idempotencyKey: '0198c5a0-…:external%2Fshop:label.print:order-98421',
        mustLookUp: false,
        key: { source: 'shop', kind: 'label.print', id: 'order-98421', generation: 1 },
      },
    ],
  })

export const doneWork = z
  .object({
    state: z.literal('completed'),
    duplicate: z.boolean().describe('True of every arrival after the work was done'),
    ...workAnswer,
    target: z.object({ type: z.string(), id: z.string() }).nullable(),
    answer: z.unknown(),
  })
  .meta({
    id: 'DoneWork',
    examples: [
      {
        state: 'completed',
        duplicate: true,
        eventId,
        attempt: 1,
        copies: 4,
        target: { type: 'label', id: 'L-1' },
        answer: { url: 'https://labels.example/L-1' },
      },
    ],
  })

export const completeInput = z
  .strictObject({
    token,
    target: workTarget.optional(),
    answer: z.unknown().optional().describe('What every later copy is told'),
  })
  .meta({
    id: 'CompleteInput',
    examples: [{ token: '…', target: { type: 'label', id: 'L-1' }, answer: { url: 'https://labels.example/L-1' } }],
  })

export const completedWork = z
  .object({ state: z.literal('completed'), eventId: id })
  .meta({ id: 'CompletedWork', examples: [{ state: 'completed', eventId }] })

export const failInput = z
  .strictObject({
    token,
    error: z.object({ code: text(200), message: z.string().max(2_000).default('') }),
    final: z.boolean().default(false).describe('Nobody tries again; a person is asked'),
    retryAfterSeconds: seconds(0, 604_800).default(0).describe('The next attempt is not due before'),
  })
  .meta({
    id: 'FailInput',
    examples: [{ token: '…', error: { code: 'printer_offline', message: 'No answer' }, retryAfterSeconds: 60 }],
  })

export const failedWork = z
  .object({
    state: z.literal('failed'),
    eventId: id,
    isFinal: z.boolean().describe('Also after eight attempts, whatever was asked for'),
    willRetryAt: time.nullable().describe('Left empty: at once, or never where it is final'),
  })
  .meta({
    id: 'FailedWork',
    examples: [
      { state: 'failed', eventId, isFinal: false, willRetryAt: '2026-12-01T10:03:00.000Z' },
      { state: 'failed', eventId, isFinal: true, willRetryAt: null },
    ],
  })

export const unknownInput = z
  .strictObject({ token, note: text(2_000).optional(), target: workTarget.optional(), answer: z.unknown().optional() })
  .meta({ id: 'UnknownInput', examples: [{ token: '…', note: 'The request timed out' }] })

export const unknownWork = z
  .object({ state: z.literal('unknown'), eventId: id })
  .meta({ id: 'UnknownWork', examples: [{ state: 'unknown', eventId }] })

export const heartbeatInput = z
  .strictObject({
    token,
    leaseSeconds: seconds(1, 86_400).optional().describe('Left out: as long as it was reserved for'),
  })
  .meta({ id: 'HeartbeatInput', examples: [{ token: '…' }] })

export const extendedWork = z.object({ state: z.literal('in_progress'), eventId: id, leaseUntil: time }).meta({
  id: 'ExtendedWork',
  examples: [{ state: 'in_progress', eventId, leaseUntil: '2026-12-01T10:04:00.000Z' }],
})

export const resolveInput = workDecision.extend({ key: z.strictObject(workName) }).meta({
  id: 'ResolveInput',
  examples: [
    {
      key: { source: 'shop', kind: 'label.print', id: 'order-98421' },
      outcome: 'completed',
      note: 'Found it in the print queue',
      target: { type: 'label', id: 'L-1' },
    },
  ],
})

export const resolvedWork = event
  .pick({ id: true, state: true })
  .meta({ id: 'ResolvedWork', examples: [{ id: eventId, state: 'completed' }] })

export const repeatInput = z.strictObject({ key: z.strictObject(workName), reason: text(1_000) }).meta({
  id: 'RepeatInput',
  examples: [{ key: { source: 'shop', kind: 'label.print', id: 'order-98421' }, reason: 'The label was torn' }],
})

export const repeatedWork = z
  .object({ generation: z.int().describe('To reserve with: the first stays as it is') })
  .meta({ id: 'RepeatedWork', examples: [{ generation: 2 }] })
