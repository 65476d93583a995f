import type { AuditEntry } from '@einmal/contract'
import { roleTexts } from '../../frame/role-texts.ts'
import type { Formats } from '../../platform/language/formats.ts'
import { type Catalogue, type Language, sayIn } from '../../platform/language/language.ts'
import { isRecord } from './read-change.ts'
import { auditTexts, fieldNameTexts, nounTexts, verbTexts } from './texts.ts'

/** Says a word that came from the record; one that we do not know stays as it is. */
function wordIn(catalogue: Catalogue<Record<string, string>>, language: Language, word: string): string {
  return Object.hasOwn(catalogue.en, word) ? sayIn(catalogue, language)(word) : word.replaceAll('_', ' ')
}

export function describeActor({ type, name }: AuditEntry['actor'], language: Language): string {
  const say = sayIn(auditTexts, language)
  if (name === null || name === '' || type === 'system') return say(type)
  if (type === 'api_key') return say('programNamed', { name })
  return type === 'assistant' ? say('assistantNamed', { name }) : name
}

/** Such as "Invoice issued". */
export function describeAction(action: string, language: Language): string {
  const [noun = '', verb = ''] = action.split('.')
  return sayIn(auditTexts, language)('action', {
    noun: wordIn(nounTexts, language, noun),
    verb: wordIn(verbTexts, language, verb),
  })
}

export function describeSubject(type: string, language: Language): string {
  return wordIn(nounTexts, language, type)
}

export function describeField(field: string, language: Language): string {
  return wordIn(fieldNameTexts, language, field)
}

/** A value of the record as people write it. `field` tells what an otherwise bare word means. */
export function describeValue(field: string, value: unknown, language: Language, formats: Formats): string {
  const say = sayIn(auditTexts, language)
  const again = (inner: unknown, name = field) => describeValue(name, inner, language, formats)
  if (value === null || value === undefined || value === '') return say('nothing')
  if (typeof value === 'boolean') return say(value ? 'yes' : 'no')
  if (Array.isArray(value)) return value.length === 0 ? say('nothing') : formats.list(value.map((each) => again(each)))
  if (isRecord(value)) {
    const { amountMinor, currency } = value
    if (typeof amountMinor === 'number' && typeof currency === 'string') return formats.amount(amountMinor, currency)
    return Object.entries(value)
      .filter(([, inner]) => inner !== null && inner !== '')
      .map(([name, inner]) => `${describeField(name, language)}: ${again(inner, name)}`)
      .join(', ')
  }
  const text = String(value)
  if (field === 'role') return wordIn(roleTexts, language, text)
  return /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(text) ? formats.moment(text) : text
}
