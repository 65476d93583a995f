import { expect, test } from 'vitest'
import { type Catalogue, languages, sayIn, type Texts, texts } from './language.ts'

const catalogue = texts(
  { hello: 'Hello {name}', plain: 'Yes', things: { one: 'one thing for {name}', other: '{count} things for {name}' } },
  { hello: 'Hallo {name}', plain: 'Ja', things: { one: 'ein Ding für {name}', other: '{count} Dinge für {name}' } },
)

test('a text is said in the language that was asked for, with its values', () => {
  expect(sayIn(catalogue, 'de')('hello', { name: 'Anna' })).toBe('Hallo Anna')
  expect(sayIn(catalogue, 'en')('plain')).toBe('Yes')
})

test('a number decides between one and many, and is written as the language writes numbers', () => {
  const say = sayIn(catalogue, 'de')
  expect(say('things', { count: 1, name: 'Anna' })).toBe('ein Ding für Anna')
  expect(say('things', { count: 0, name: 'Anna' })).toBe('0 Dinge für Anna')
  expect(say('things', { count: 12_345, name: 'Anna' })).toBe('12.345 Dinge für Anna')
})

test('a value that looks like a placeholder stays what it is', () => {
  expect(sayIn(catalogue, 'en')('hello', { name: '{name} $& $1' })).toBe('Hello {name} $& $1')
})

// The compiler compares them already; this holds where somebody argues with it.
const modules = import.meta.glob<Record<string, unknown>>('../../**/*texts.ts', { eager: true })
const catalogues = Object.entries(modules).flatMap(([path, module]) =>
  Object.entries(module).flatMap(([name, value]) => (isCatalogue(value) ? [{ name: `${path} ${name}`, value }] : [])),
)

test('the texts of the modules are found', () => {
  expect(catalogues.length).toBeGreaterThan(10)
})

test.each(catalogues)('$name says the same in both languages, and nothing is empty', ({ value }) => {
  const [english, german] = languages.map((language) => value[language])
  expect(Object.keys(german ?? {}).toSorted()).toEqual(Object.keys(english ?? {}).toSorted())
  for (const key of Object.keys(value.en)) {
    expect([key, placeholders(value.de[key])]).toEqual([key, placeholders(value.en[key])])
    for (const language of languages) expect([key, forms(value[language][key]).includes('')]).toEqual([key, false])
  }
})

function isCatalogue(value: unknown): value is Catalogue<Texts> {
  return typeof value === 'object' && value !== null && 'en' in value && 'de' in value
}

function forms(text: Texts[string] | undefined): string[] {
  if (text === undefined) return ['']
  return typeof text === 'string' ? [text] : [text.one, text.other]
}

function placeholders(text: Texts[string] | undefined): string[] {
  return [...new Set(forms(text).flatMap((form) => form.match(/\{\w+\}/g) ?? []))].toSorted()
}
