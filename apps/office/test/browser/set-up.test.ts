import { expect } from 'vitest'
import { test } from '../support/browser.ts'
import { olga, setUpLinkOf, signIn } from '../support/people.ts'

test('the first start’s link makes the organisation and its owner, by keyboard alone; then it opens nothing any more', async ({
  open,
  office,
}) => {
  const page = await open()
  const link = await setUpLinkOf(office)
  await page.goto(link)
  await page.getByRole('heading', { name: 'Set up your office' }).waitFor()
  // The secret is nowhere in the address, where a neighbour or the history would have it.
  expect(page.url()).toBe(`${office.url}/set-up`)
  const fields = ['Name of the organisation', 'Your name', 'E-mail', 'Password']
  const texts = ['Muster GmbH', olga.name, olga.email, olga.password]
  await page.getByLabel('Name of the organisation').focus()
  for (const [index, text] of texts.entries()) {
    // Each field is reached from the one before by the key alone.
    expect(await page.evaluate('document.activeElement.labels[0].innerText')).toBe(fields[index])
    await page.keyboard.type(text)
    await page.keyboard.press(index === texts.length - 1 ? 'Enter' : 'Tab')
  }
  await page.getByRole('heading', { name: `Welcome, ${olga.name}` }).waitFor()
  expect(await page.getByText('Muster GmbH').first().isVisible()).toBe(true)

  const other = await open()
  await other.goto(link)
  await other.getByLabel('Name of the organisation').fill('Another')
  await other.getByLabel('Your name').fill('Eve')
  await other.getByLabel('E-mail').fill('eve@example.org')
  await other.getByLabel('Password', { exact: true }).fill('long enough for this')
  await other.getByRole('button', { name: 'Set up the office' }).click()
  await other.getByRole('alert').getByText('This office is set up already').waitFor()
})

test('the owner signs in with what was chosen', async ({ page }) => {
  await signIn(page)
  await page.goto('/settings/members')
  await page.getByRole('heading', { name: 'Members' }).waitFor()
})
