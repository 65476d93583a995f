/** What the office answered instead of what was asked for, or that it did not answer. */
export class RequestFailed extends Error {
  override readonly name = 'RequestFailed'
  readonly code: string
  /** 0 where there was no answer. */
  readonly status: number
  readonly requestId: string | null
  readonly retryAfterSeconds: number | null

  constructor(failure: { code: string; status: number; requestId?: string | null; retryAfterSeconds?: number | null }) {
    super(failure.code)
    this.code = failure.code
    this.status = failure.status
    this.requestId = failure.requestId ?? null
    this.retryAfterSeconds = failure.retryAfterSeconds ?? null
  }
}

const PATIENCE_MS = 30_000

interface Question {
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly path: string
  readonly body?: unknown
  readonly idempotencyKey?: string
}

/** Reads below `/api/v1`. */
export function read<Answer>(path: string): Promise<Answer> {
  return ask({ method: 'GET', path: `/api/v1${path}` })
}

/** Writes below `/api/v1`. A repetition under the same key is the same act and gets the first answer. */
export function write<Answer>(
  method: 'POST' | 'PATCH',
  path: string,
  body: unknown,
  idempotencyKey: string,
): Promise<Answer> {
  return ask({ method, path: `/api/v1${path}`, body, idempotencyKey })
}

/** Sign-in and what belongs to it: `/api/auth`. */
export function askAuth<Answer>(path: string, body: unknown): Promise<Answer> {
  return ask({ method: 'POST', path: `/api/auth/${path}`, body })
}

async function ask<Answer>({ method, path, body, idempotencyKey }: Question): Promise<Answer> {
  const response = await fetch(path, {
    method,
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
    signal: AbortSignal.timeout(PATIENCE_MS),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new RequestFailed({ code: navigator.onLine ? 'no_answer' : 'offline', status: 0 })
  })
  const answer = await readJson(response)
  if (response.ok) return answer as Answer
  const failure = toFailure(response, answer)
  if (isSignedOut(failure)) for (const listener of signedOutListeners) listener()
  throw failure
}

const signedOutListeners = new Set<() => void>()

/** Learns of every answer that says that nobody is signed in, whoever asked. */
export function hearSignedOut(listener: () => void): void {
  signedOutListeners.add(listener)
}

async function readJson(response: Response): Promise<unknown> {
  try {
    const text = await response.text()
    return text === '' ? null : JSON.parse(text)
  } catch {
    if (response.ok) throw new RequestFailed({ code: 'no_answer', status: response.status })
    return null
  }
}

function toFailure(response: Response, answer: unknown): RequestFailed {
  const { status, headers } = response
  const { code, requestId } = (answer ?? {}) as { code?: unknown; requestId?: unknown }
  const seconds = Number(headers.get('retry-after') ?? headers.get('x-retry-after') ?? Number.NaN)
  return new RequestFailed({
    code: typeof code === 'string' ? code : codeOf(status),
    status,
    requestId: typeof requestId === 'string' ? requestId : null,
    retryAfterSeconds: Number.isFinite(seconds) && seconds > 0 ? seconds : null,
  })
}

/** For an answer without a code, such as that of a proxy in between. */
function codeOf(status: number): string {
  if (status === 401) return 'unauthorized'
  if (status === 429) return 'too_many_attempts'
  return status >= 502 ? 'unavailable' : 'unknown'
}

/** Nobody is signed in, or not any more. */
export function isSignedOut(error: unknown): boolean {
  return (
    error instanceof RequestFailed &&
    error.status === 401 &&
    ['unauthorized', 'UNAUTHORIZED', 'SESSION_EXPIRED'].includes(error.code)
  )
}

export function isCoded(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof RequestFailed && codes.includes(error.code)
}
