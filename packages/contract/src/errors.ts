/** Every refusal the API can answer with: its status and its title. The detail says what to do in the case at hand. */
export const errors = {
  bad_request: { status: 400, title: 'The request cannot be read' },
  idempotency_key_missing: { status: 400, title: 'The header Idempotency-Key is missing' },
  idempotency_key_invalid: { status: 400, title: 'The header Idempotency-Key is not usable' },
  unauthorized: { status: 401, title: 'The API key is missing or not valid' },
  signature_invalid: { status: 401, title: 'The signature does not belong to this body' },
  not_found: { status: 404, title: 'There is no such thing' },
  in_progress: { status: 409, title: 'The same request is being worked on' },
  invoice_not_draft: { status: 409, title: 'The invoice is no draft any more' },
  invoice_not_open: { status: 409, title: 'The invoice takes no payment' },
  outcome_unknown: { status: 409, title: 'Nobody knows yet how this ended' },
  failed_for_good: { status: 409, title: 'This failed for good' },
  body_too_large: { status: 413, title: 'The body is too large' },
  media_type_unsupported: { status: 415, title: 'The content type is not supported' },
  content_differs: { status: 422, title: 'The key was used for other content' },
  invalid: { status: 422, title: 'A field is not usable' },
  too_many_failed: { status: 429, title: 'Too many deliveries did not verify' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  unavailable: { status: 503, title: 'The database is away or too busy' },
} as const satisfies Record<string, { status: number; title: string }>

export type ErrorCode = keyof typeof errors
