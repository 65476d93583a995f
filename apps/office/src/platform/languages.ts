/** The languages in which people are written to. */
export type Language = 'de' | 'en'

/** The first of ours that a browser asks for by `Accept-Language` (RFC 9110, section 12.5.4); English for who asks for neither. */
export function languageOf(acceptLanguage: string | undefined): Language {
  const wanted = (acceptLanguage ?? '').split(',').map((part) => {
    const [tag = '', quality = ''] = part.trim().split(/\s*;\s*q=/)
    return { tag: tag.toLowerCase(), quality: quality === '' ? 1 : Number(quality) }
  })
  const known = wanted.filter(({ tag, quality }) => /^(de|en)(-|$)/.test(tag) && quality > 0)
  const [best] = known.toSorted((one, other) => other.quality - one.quality)
  return best?.tag.startsWith('de') ? 'de' : 'en'
}
