import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { COLOR_SCHEME_KEY } from '../color-scheme.ts'
import { findLanguage, findLocale, LANGUAGE_KEY } from './stored-language.ts'

test('the choice of the person comes before the languages of the browser', () => {
  expect(findLanguage('de', ['en-US'])).toBe('de')
  expect(findLanguage(null, ['fr-FR', 'de-AT', 'en'])).toBe('de')
  expect(findLanguage('xx', ['fr'])).toBe('en')
})

test('dates look as in the country that the browser prefers', () => {
  expect(findLocale('de', ['en-US', 'de-AT'])).toBe('de-AT')
  expect(findLocale('en', ['de-AT'])).toBe('en-GB')
})

test('what runs before the first paint reads the same keys', () => {
  const script = readFileSync(new URL('../../../public/before-first-paint.js', import.meta.url), 'utf8')
  expect(script).toContain(`'${LANGUAGE_KEY}'`)
  expect(script).toContain(`'${COLOR_SCHEME_KEY}'`)
})
