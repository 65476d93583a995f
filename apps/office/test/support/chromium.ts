import { existsSync } from 'node:fs'

export const noChromium =
  'The browser tests need Chromium: apt-get install chromium fonts-dejavu-core, or name one in EINMAL_CHROMIUM.'

const places = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** Null where there is none, and the tests are skipped. Not where CI is set: what runs there must not pass by skipping. */
export function findChromium(): string | null {
  const named = process.env['EINMAL_CHROMIUM']
  if (named !== undefined && !existsSync(named)) throw new Error(`EINMAL_CHROMIUM names ${named}, which is not there.`)
  const found = named ?? places.find((path) => existsSync(path)) ?? null
  if (found === null && process.env['CI'] !== undefined) throw new Error(noChromium)
  return found
}
