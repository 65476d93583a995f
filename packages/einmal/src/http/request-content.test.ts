import { describe, expect, test } from 'vitest'
import { canonicalJson } from '../content.ts'
import { contentFields } from './request-content.ts'

const json = 'application/json; charset=utf-8'

function fieldsOf(text: string | null, contentType: string = json, url = '/a') {
  const body = text === null ? undefined : { bytes: Buffer.from(text) }
  return contentFields({ method: 'POST', url, contentType, body })
}

describe('the content of a request', () => {
  test('no two different ones have the same fields', () => {
    const many = JSON.stringify(Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`m${index}`, index])))
    const different = [
      ...[fieldsOf(null), fieldsOf('{}'), fieldsOf('[]'), fieldsOf('null'), fieldsOf('""'), fieldsOf('{"a":{}}')],
      ...[fieldsOf('{"a":null}'), fieldsOf('{"body":1}'), fieldsOf('{"bytes":1}'), fieldsOf(many), fieldsOf('{')],
      ...[
        fieldsOf('{}', 'text/plain'),
        fieldsOf(null, json, '/a?'),
        fieldsOf(null, json, '/a?b'),
        fieldsOf('{"__proto__":1}'),
      ],
      ...[fieldsOf('{"n":9007199254740993}'), fieldsOf('{"n":9007199254740992}'), fieldsOf('{"n":0.1}')],
      fieldsOf('{"n":0.10000000000000000001}'),
    ]
    expect(new Set(different.map(canonicalJson)).size).toBe(different.length)
  })

  test('JSON is told by its media type, whatever the suffix and the parameters', () => {
    for (const type of ['application/json', 'application/problem+json', 'APPLICATION/JSON;charset=utf-8']) {
      expect(fieldsOf('{"a":1}', type)).toMatchObject({ 'body.a': 1 })
    }
    for (const type of ['text/plain', 'application/jsonl', 'text/plain; x=application/json']) {
      expect(fieldsOf('{"a":1}', type)).toHaveProperty('bytes')
    }
  })

  test('bytes that are no UTF-8 are compared as they are', () => {
    const body = { bytes: Uint8Array.from([0x22, 0xff, 0x22]) }
    expect(contentFields({ method: 'POST', url: '/a', contentType: json, body })).toHaveProperty('bytes')
  })

  test('of a parsed body, what may have lost digits is refused', () => {
    const content = { method: 'POST', url: '/a', contentType: json }
    expect(contentFields({ ...content, body: { parsed: { a: 1 } } })).toMatchObject({ 'body.a': 1 })
    expect(() => contentFields({ ...content, body: { parsed: { a: 2 ** 53 } } })).toThrow('may have lost digits')
  })
})
