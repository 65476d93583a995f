// Runs before anything is painted: the chosen language and colours, so that nothing flashes and nothing is read out wrongly. The keys
// are those of src/platform/color-scheme.ts and src/platform/language/stored-language.ts.
;(() => {
  const root = document.documentElement
  const read = (key) => {
    try {
      return localStorage.getItem(key)
    } catch {
      return null
    }
  }
  const scheme = read('einmal-color-scheme')
  const isDark = scheme === 'dark' || (scheme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  root.setAttribute('data-mantine-color-scheme', isDark ? 'dark' : 'light')
  const known = [read('einmal-language'), ...navigator.languages].map((tag) => tag?.slice(0, 2))
  root.lang = known.find((language) => language === 'de' || language === 'en') ?? 'en'
})()
