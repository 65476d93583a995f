import { createContext, type ReactNode, use, useLayoutEffect, useMemo, useState } from 'react'
import { store } from '../storage.ts'
import { type Formats, formatsIn } from './formats.ts'
import { type Catalogue, type Language, type Say, sayIn, type Texts } from './language.ts'
import { currentLanguage, findLocale, LANGUAGE_KEY } from './stored-language.ts'

interface Choice {
  readonly language: Language
  readonly formats: Formats
  choose(language: Language): void
}

const LanguageContext = createContext<Choice | null>(null)

export function LanguageProvider({ children }: { readonly children: ReactNode }) {
  const [language, setLanguage] = useState(currentLanguage)
  useLayoutEffect(() => {
    document.documentElement.lang = language
  }, [language])
  const choice = useMemo<Choice>(() => {
    const formats = formatsIn(findLocale(language, navigator.languages))
    const choose = (chosen: Language) => {
      store(LANGUAGE_KEY, chosen)
      setLanguage(chosen)
    }
    return { language, formats, choose }
  }, [language])
  return <LanguageContext value={choice}>{children}</LanguageContext>
}

export function useLanguage(): Choice {
  const choice = use(LanguageContext)
  if (choice === null) throw new Error('outside of LanguageProvider')
  return choice
}

/** The texts of a module in the person's language. */
export function useTexts<English extends Texts>(catalogue: Catalogue<English>): Say<English> {
  const { language } = useLanguage()
  return useMemo(() => sayIn(catalogue, language), [catalogue, language])
}
