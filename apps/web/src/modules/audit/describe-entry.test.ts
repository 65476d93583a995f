import { describe, expect, test } from 'vitest'
import { formatsIn } from '../../platform/language/formats.ts'
import { describeAction, describeActor, describeValue } from './describe-entry.ts'
import { readChange } from './read-change.ts'

describe('what was done', () => {
  test('is said in words', () => {
    expect(describeAction('invoice.issue', 'de')).toBe('Rechnung gestellt')
    expect(describeAction('api_key.revoke', 'en')).toBe('API key revoked')
  })

  test('is readable where the words are not known yet', () => {
    expect(describeAction('bank_line.brand_new', 'de')).toBe('bank line brand new')
  })
})

test('who did it is a person by name, and anything else is said to be something else', () => {
  expect(describeActor({ type: 'member', id: '1', name: 'Anna' }, 'de')).toBe('Anna')
  expect(describeActor({ type: 'api_key', id: '1', name: 'n8n' }, 'de')).toBe('n8n (Programm)')
  expect(describeActor({ type: 'member', id: '1', name: null }, 'de')).toBe('Mitglied')
  expect(describeActor({ type: 'system', id: 'system', name: null }, 'en')).toBe('The office itself')
})

describe('a change', () => {
  test('with before and after is told field by field', () => {
    expect(readChange({ before: { name: 'A' }, after: { name: 'B', city: 'Köln' }, reason: 'moved' })).toEqual([
      { field: 'name', before: 'A', after: 'B' },
      { field: 'city', before: undefined, after: 'Köln' },
      { field: 'reason', after: 'moved' },
    ])
  })

  test('without them is what was asked for', () => {
    expect(readChange({ number: 'RE-1' })).toEqual([{ field: 'number', after: 'RE-1' }])
  })
})

test('values are written as people write them', () => {
  const say = (field: string, value: unknown) => describeValue(field, value, 'de', formatsIn('de-DE'))
  expect(say('role', 'accountant')).toBe('Buchhaltung')
  expect(say('amount', { amountMinor: 123_450, currency: 'EUR' })).toBe('1.234,50\u00a0€')
  expect(say('address', { street: 'Hauptstr. 1', city: 'Köln', country: null })).toBe('Straße: Hauptstr. 1, Ort: Köln')
  expect(say('scopes', ['read', 'register'])).toBe('read und register')
  expect(say('name', null)).toBe('leer')
  expect(say('isShared', true)).toBe('ja')
})
