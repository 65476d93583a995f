import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { expectNoSeriousViolations, expectNoSidewaysScroll, test } from '../support/browser.ts'

/** What a sign-in may cost on a slow line. */
const SCRIPT_BYTES_MAX = 150 * 1024

/** Pages that anybody can open, with nobody signed in. */
const openPages = ['/sign-in', '/forgot-password', '/reset-password#token', '/set-up#token', '/invitation#token']

async function visit(page: Page, path: string): Promise<void> {
  await page.goto(path)
  await page.getByRole('heading', { level: 1 }).waitFor()
}

test('the page comes with the strict policy, a nonce of its own, and runs without one violation', async ({ page }) => {
  const answers = [await page.goto('/sign-in'), await page.goto('/sign-in')]
  await page.getByRole('heading', { level: 1 }).waitFor()
  const policies = answers.map((answer) => answer?.headers()['content-security-policy'] ?? '')
  const nonces = policies.map((policy) => {
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self' 'nonce-")
    return /'nonce-([^']+)'/.exec(policy)?.[1]
  })
  expect(nonces[0]).not.toBe(nonces[1])
})

test('what is smuggled into the page does not run', async ({ page, problems }) => {
  await visit(page, '/sign-in')
  await page.evaluate(`{
    const script = document.createElement('script')
    script.textContent = 'window.smuggled = true'
    document.body.append(script)
    const image = document.createElement('img')
    image.setAttribute('onerror', 'window.smuggled = true')
    image.src = 'data:,nothing'
    document.body.append(image)
  }`)
  const refused = () => problems.filter((problem) => problem.startsWith('policy: script-src')).length
  await expect.poll(refused).toBe(2)
  problems.splice(0)
  expect(await page.evaluate('window.smuggled')).toBeUndefined()
})

test('all scripts of the sign-in page together stay below 150 KB as they travel', async ({ page }) => {
  const scripts: Promise<Buffer>[] = []
  page.on('response', (response) => {
    if (response.request().resourceType() === 'script') scripts.push(response.body())
  })
  await visit(page, '/sign-in')
  // What is loaded in advance begins when the page has nothing else to do.
  await page.evaluate('new Promise((done) => requestIdleCallback(done))')
  const sizes = (await Promise.all(scripts)).map((body) => gzipSync(body, { level: 9 }).length)
  expect(sizes.length).toBeGreaterThan(0)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(SCRIPT_BYTES_MAX)
})

test('scripts and styles come as they were compressed when they were built', async ({ page }) => {
  const encodings: Record<string, string> = {}
  page.on('response', (response) => {
    const { pathname } = new URL(response.url())
    if (/^\/assets\/.*\.(js|css)$/.test(pathname))
      encodings[pathname] = response.headers()['content-encoding'] ?? 'none'
  })
  await visit(page, '/sign-in')
  expect(Object.keys(encodings).length).toBeGreaterThan(1)
  for (const [path, encoding] of Object.entries(encodings)) expect(['br', 'gzip'], path).toContain(encoding)
})

describe.each(openPages)('%s', (path) => {
  test.for(['light', 'dark'] as const)('can be read and used by everybody, %s', async (colorScheme, { open }) => {
    const page = await open({ colorScheme })
    await visit(page, path)
    await expectNoSeriousViolations(page)
  })

  test('fits a screen of 360 pixels', async ({ open }) => {
    const page = await open({ viewport: { width: 360, height: 740 } })
    await visit(page, path)
    await expectNoSidewaysScroll(page)
    await expectNoSeriousViolations(page)
  })
})

test('light and dark follow the system before the first paint, when the screens themselves have yet to arrive', async ({
  open,
}) => {
  const backgrounds: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await open({ colorScheme })
    await page.route('**/assets/*.js', (route) => route.abort())
    await page.goto('/sign-in')
    backgrounds.push(await page.evaluate<string>('getComputedStyle(document.body).backgroundColor'))
  }
  expect(new Set(backgrounds).size).toBe(2)
})

test('the page of the contract runs under its own policy, and asks nobody else for anything', async ({
  page,
  problems,
}) => {
  await page.goto('/api/docs/')
  await page.getByRole('heading', { name: 'Einmal', level: 1 }).waitFor()
  await page.getByRole('button', { name: 'invoices' }).first().waitFor()
  // A part of it asks whether it may evaluate text, is told no, and does without.
  const asked = /^policy: script-src eval \S+\/api\/docs\/js\/scalar\.js:\d+$/
  expect(problems.splice(0).filter((problem) => !asked.test(problem))).toEqual([])
})
