/** The two languages of the interface, and a dictionary whose placeholders the compiler compares. */
export const languages = ['en', 'de'] as const
export type Language = (typeof languages)[number]

/** A text that depends on a number, which it is given as `count`. German and English need these two forms and no other. */
interface Plural {
  readonly one: string
  readonly other: string
}

type Text = string | Plural
export type Texts = Readonly<Record<string, Text>>

type NamesIn<Words> = Words extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never
type Names<Entry> = Entry extends Plural ? NamesIn<Entry['one'] | Entry['other']> | 'count' : NamesIn<Entry>

/** `never` where the German text takes other values than the English one, or there is no English one. */
type SameNames<English, German> = {
  [Key in keyof German]: Key extends keyof English
    ? [Names<English[Key]>, Names<German[Key]>] extends [Names<German[Key]>, Names<English[Key]>]
      ? German[Key]
      : never
    : never
}

/** What `texts` makes: the texts of a module in both languages. */
export interface Catalogue<English extends Texts> {
  readonly en: English
  readonly de: Readonly<Record<keyof English, Text>>
}

/** The texts of a module. Does not compile unless both languages have the same keys and each text the same `{placeholders}`. */
export function texts<const English extends Texts, const German extends Readonly<Record<keyof English, Text>>>(
  en: English,
  de: German & SameNames<English, German>,
): Catalogue<English> {
  return { en, de }
}

type Values<Entry> = [Names<Entry>] extends [never] ? [] : [Readonly<Record<Names<Entry>, string | number>>]

/** Says a text in the language of the person; numbers in it are written as the language writes them. */
export type Say<English> = <Key extends keyof English>(key: Key, ...values: Values<English[Key]>) => string

export function sayIn<English extends Texts>(catalogue: Catalogue<English>, language: Language): Say<English> {
  const plural = new Intl.PluralRules(language)
  const number = new Intl.NumberFormat(language)
  return (key, ...[values]) => {
    const given: Readonly<Record<string, string | number>> = values ?? {}
    const text: Text = catalogue[language][key]
    const words =
      typeof text === 'string' ? text : plural.select(Number(given['count'])) === 'one' ? text.one : text.other
    return words.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const value = given[name] ?? ''
      return typeof value === 'number' ? number.format(value) : value
    })
  }
}
