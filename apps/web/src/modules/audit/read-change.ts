export interface Change {
  readonly field: string
  /** `undefined` where only the new value is on record. */
  readonly before?: unknown
  readonly after: unknown
}

/** What an audit entry says about the change, field by field: either how it was and is, or what was asked for. */
export function readChange(data: unknown): readonly Change[] {
  if (!isRecord(data)) return []
  const { before, after, ...rest } = data
  if (!isRecord(after)) return toChanges(data)
  const earlier = isRecord(before) ? before : {}
  const fields = new Set([...Object.keys(earlier), ...Object.keys(after)])
  const changes = [...fields].map((field) => ({ field, before: earlier[field], after: after[field] }))
  return [...changes, ...toChanges(rest)]
}

function toChanges(values: Readonly<Record<string, unknown>>): Change[] {
  return Object.entries(values).map(([field, after]) => ({ field, after }))
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
