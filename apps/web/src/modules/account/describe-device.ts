/** Browsers and systems by the sign that each leaves in the text by which it names itself; the first that fits counts. */
const browsers = [
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['Firefox', 'Firefox'],
  ['FxiOS', 'Firefox'],
  ['CriOS', 'Chrome'],
  ['SamsungBrowser', 'Samsung Internet'],
  ['Chrome', 'Chrome'],
  ['Safari', 'Safari'],
] as const
const systems = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const

export interface Device {
  readonly browser: string | null
  readonly system: string | null
}

/** What a person would call the device. A guess that nothing depends on: browsers name themselves as they like. */
export function describeDevice(userAgent: string | null): Device {
  const find = (names: readonly (readonly [string, string])[]) =>
    names.find(([sign]) => userAgent?.includes(sign) === true)?.[1] ?? null
  return { browser: find(browsers), system: find(systems) }
}
