import type { Role } from '@einmal/contract'
import { describe, expect, test } from 'vitest'
import { areas } from '../areas.ts'
import { languages } from '../platform/language/language.ts'
import { type Area, entriesFor, isOpenTo } from './area.ts'

const pathsOf = (role: Role) => entriesFor(role, areas).map(({ to }) => to)

describe('the navigation', () => {
  test.each(['owner', 'admin'] as const)('shows everything to %s', (role) => {
    expect(pathsOf(role)).toEqual(['/', '/settings/members', '/settings/api-keys', '/settings/audit', '/account'])
  })

  test('shows the record of changes to accounting, and neither members nor keys', () => {
    expect(pathsOf('accountant')).toEqual(['/', '/settings/audit', '/account'])
  })

  test.each(['agent', 'viewer'] as const)('shows %s the start and their account', (role) => {
    expect(pathsOf(role)).toEqual(['/', '/account'])
  })

  test('has a page for each entry, and each is named in both languages', () => {
    for (const { routes, navigation } of areas as readonly Area[]) {
      const paths = routes.map(({ options }) => ('path' in options ? options.path : null))
      for (const { to, label } of navigation) {
        expect(paths).toContain(to)
        for (const language of languages) expect(label[language]).not.toBe('')
      }
    }
  })
})

test('a page, and all below it, is open to the roles that see its entry', () => {
  expect(isOpenTo('viewer', '/settings/members', areas)).toBe(false)
  expect(isOpenTo('viewer', '/settings/members/someone', areas)).toBe(false)
  expect(isOpenTo('admin', '/settings/members/someone', areas)).toBe(true)
})

test('a page that only begins with the same letters is another one', () => {
  expect(isOpenTo('viewer', '/settings/members-and-more', areas)).toBe(true)
})
