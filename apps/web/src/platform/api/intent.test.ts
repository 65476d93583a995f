import { expect, test } from 'vitest'
import { createIntent } from './intent.ts'

function counting() {
  let count = 0
  return createIntent(() => `key-${++count}`)
}

test('the same content has the same key, however often it is sent', () => {
  const intent = counting()
  expect(intent.keyFor({ email: 'a@example.org' })).toBe('key-1')
  expect(intent.keyFor({ email: 'a@example.org' })).toBe('key-1')
})

test('edited content is another act', () => {
  const intent = counting()
  intent.keyFor({ email: 'a@example.org' })
  expect(intent.keyFor({ email: 'b@example.org' })).toBe('key-2')
})

test('after a success the same content is another act', () => {
  const intent = counting()
  intent.keyFor('send')
  intent.isDone()
  expect(intent.keyFor('send')).toBe('key-2')
})
