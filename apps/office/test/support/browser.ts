/**
 * Tests in a real browser. `test` brings `page`, signed in nowhere, and `office`, the one that the file's tests share:
 *
 *     test('a wrong password is told so', async ({ page }) => {
 *       await page.goto('/sign-in')
 *     })
 *
 * `open` opens more of them, each with cookies and storage of its own: `open({ colorScheme: 'dark', viewport })`. A test fails
 * on any error, warning of the policy, failed file or foreign address that one of its pages saw, without asking for it.
 */
import AxeBuilder from '@axe-core/playwright'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { test as base, expect, inject } from 'vitest'
import { noChromium } from './chromium.ts'
import { serveOffice } from './served-office.ts'

const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync']

/** As people first meet the office: a common screen, English, light. */
const usual: BrowserContextOptions = {
  viewport: { width: 1280, height: 800 },
  locale: 'en-GB',
  colorScheme: 'light',
  // What moves would be caught half-way by a look at its colours.
  reducedMotion: 'reduce',
}

export const test = base
  .extend('chromiumPath', { scope: 'file' }, () => inject('chromiumPath'))
  .extend('browser', { scope: 'file' }, async ({ chromiumPath }, { onCleanup }): Promise<Browser | null> => {
    if (chromiumPath === null) return null
    const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', ...quiet] })
    onCleanup(() => browser.close())
    return browser
  })
  /** Settings of the office; `test.override('settings', { … })` at the top of a file changes them. */
  .extend('settings', { scope: 'file' }, (): Readonly<Record<string, string>> => ({}))
  .extend('office', { scope: 'file' }, async ({ settings }, { onCleanup }) => {
    const office = await serveOffice(settings)
    onCleanup(() => office.stop())
    return office
  })
  /** What went wrong in the pages so far. A test that provokes something takes it out: `problems.splice(0)`. */
  .extend('problems', (): string[] => [])
  .extend('open', async ({ browser, office, problems, skip }, { onCleanup }) => {
    if (browser === null) return skip(noChromium)
    const pages: Page[] = []
    onCleanup(async () => {
      for (const page of pages) await page.context().close()
      expect(problems).toEqual([])
    })
    return async (options: BrowserContextOptions = {}): Promise<Page> => {
      const context = await browser.newContext({ ...usual, baseURL: office.url, ...options })
      const page = await context.newPage()
      pages.push(page)
      await collectProblems(page, problems)
      return page
    }
  })
  .extend('page', ({ open }) => open())

/** What no page may do, in words, as it happens. Refusals of the API are none: they are answers. */
async function collectProblems(page: Page, problems: string[]): Promise<void> {
  page.on('pageerror', (error) => problems.push(`error: ${error.stack ?? error.message}`))
  page.on('console', (message) => {
    // The browser's own note of each failed request; those are judged below.
    if (message.text().startsWith('Failed to load resource')) return
    if (message.type() === 'error') problems.push(`console: ${message.text()}`)
  })
  await page.exposeFunction('reportViolation', (what: string) => problems.push(`policy: ${what}`))
  await page.addInitScript({
    content: `document.addEventListener('securitypolicyviolation', (event) =>
      reportViolation(event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sourceFile + ':' + event.lineNumber))`,
  })
  page.on('response', (response) => {
    const { pathname } = new URL(response.url())
    const status = response.status()
    if (status < 400 || (status < 500 && pathname.startsWith('/api/'))) return
    problems.push(`answer: ${status} ${response.request().method()} ${response.url()}`)
  })
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url())
    if (['http:', 'https:', 'ws:', 'wss:'].includes(protocol) && hostname !== '127.0.0.1') {
      problems.push(`foreign address: ${request.url()}`)
    }
  })
}

/** Fails on every finding of axe that keeps somebody from using the page, with the place and what to do. */
export async function expectNoSeriousViolations(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze()
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  const words = serious.flatMap(({ id, help, nodes }) =>
    nodes.map((node) => `${id}: ${help}: ${node.target.join(' ')}\n${node.failureSummary ?? ''}`),
  )
  expect(words).toEqual([])
}

/** Fails where the page has to be pushed sideways to be read. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const tooWide = await page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )
  expect(tooWide).toBeLessThanOrEqual(0)
}
