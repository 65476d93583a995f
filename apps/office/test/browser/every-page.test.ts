import { describe } from 'vitest'
import { expectNoSeriousViolations, expectNoSidewaysScroll, test } from '../support/browser.ts'
import { fillSignIn, olga, setUp } from '../support/people.ts'

const pages = ['/', '/settings/members', '/settings/api-keys', '/settings/audit', '/account', '/no/such/page']

test.beforeAll(async ({ office }) => {
  await setUp(office)
})

/** Each language and each scheme on a desk and on a phone. */
const looks = [
  { language: 'en-GB', colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { language: 'de-DE', colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  { language: 'de-DE', colorScheme: 'light', viewport: { width: 360, height: 740 } },
  { language: 'en-GB', colorScheme: 'dark', viewport: { width: 360, height: 740 } },
] as const

describe.each(looks)('in $language, $colorScheme, at $viewport.width pixels', ({ language, colorScheme, viewport }) => {
  test('every page of the office can be read and used by everybody, and fits the screen', async ({ open }) => {
    const page = await open({ locale: language, colorScheme, viewport })
    await page.goto('/sign-in')
    if (language === 'de-DE') {
      await page.getByLabel('E-Mail').fill(olga.email)
      await page.getByLabel('Passwort', { exact: true }).fill(olga.password)
      await page.getByRole('button', { name: 'Anmelden' }).click()
    } else {
      await fillSignIn(page, olga)
    }
    await page.getByRole('heading', { name: olga.name }).waitFor()
    for (const path of pages) {
      await page.goto(path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.waitForLoadState('networkidle')
      await expectNoSeriousViolations(page)
      await expectNoSidewaysScroll(page)
    }
  })
})
