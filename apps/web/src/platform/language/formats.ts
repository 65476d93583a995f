/** Times as people read them. `locale` is the language with the country that the browser prefers, such as `de-AT`. */
export function formatsIn(locale: string) {
  const moment = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
  const day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' })
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
  const list = new Intl.ListFormat(locale, { type: 'conjunction' })
  return {
    /** With the time of day. */
    moment: (at: string) => moment.format(new Date(at)),
    day: (at: string) => day.format(new Date(at)),
    /** Such as "3 hours ago"; older than a month, the day. */
    relative(at: string, nowMs: number): string {
      const seconds = (new Date(at).getTime() - nowMs) / 1000
      const [unit, length] = units.find(([, length]) => Math.abs(seconds) >= length) ?? (['second', 1] as const)
      if (Math.abs(seconds) >= 31 * 86_400) return day.format(new Date(at))
      // Under a minute all is now: seconds only make people look again.
      return unit === 'second' ? relative.format(0, 'second') : relative.format(Math.trunc(seconds / length), unit)
    },
    /** With its currency. Exact, because the formatter reads a decimal text and no float. */
    amount(amountMinor: number | bigint, currency: string): string {
      const money = new Intl.NumberFormat(locale, { style: 'currency', currency })
      const { maximumFractionDigits: digits = 2 } = money.resolvedOptions()
      const text = String(amountMinor)
        .replace('-', '')
        .padStart(digits + 1, '0')
      const whole = text.slice(0, text.length - digits)
      const sign = amountMinor < 0 ? '-' : ''
      return money.format(`${sign}${whole}.${text.slice(whole.length)}0` as `${number}`)
    },
    list: (words: readonly string[]) => list.format(words),
  }
}

export type Formats = ReturnType<typeof formatsIn>

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const
