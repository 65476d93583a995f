import { expect, test } from 'vitest'
import { safeNext } from './next.ts'

test.each(['/', '/settings/members', '/settings/audit?cursor=1'])('%s is a page of ours to go on to', (next) => {
  expect(safeNext(next)).toBe(next)
})

test.each([
  undefined,
  '',
  'https://evil.example/settings',
  '//evil.example/settings',
  '/\\evil.example/settings',
  '/\t/evil.example/settings',
  '/.//evil.example/settings',
  '/x/..//evil.example/settings',
  'http://[',
  'javascript:alert(1)',
  '/sign-in?next=/',
  7,
])('%s leads to the start page and never elsewhere', (next) => {
  expect(safeNext(next)).toBe('/')
})
