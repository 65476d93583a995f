import { readStored } from '../storage.ts'
import { type Language, languages } from './language.ts'

/** Known to public/before-first-paint.js too. */
export const LANGUAGE_KEY = 'einmal-language'

/** What the person chose, else the first of the browser's languages that we speak. */
export function findLanguage(chosen: string | null, preferred: readonly string[]): Language {
  const known = [chosen ?? '', ...preferred].map((tag) => languages.find((language) => isOf(tag, language)))
  return known.find((language) => language !== undefined) ?? 'en'
}

/** The language as the person's browser writes it: with the country, which decides how dates look. */
export function findLocale(language: Language, preferred: readonly string[]): string {
  return preferred.find((tag) => isOf(tag, language)) ?? (language === 'en' ? 'en-GB' : 'de-DE')
}

function isOf(tag: string, language: Language): boolean {
  return tag.toLowerCase().split('-')[0] === language
}

export function currentLanguage(): Language {
  return findLanguage(readStored(LANGUAGE_KEY), navigator.languages)
}
