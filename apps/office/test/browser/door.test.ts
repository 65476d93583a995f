import pg from 'pg'
import { describe, expect } from 'vitest'
import { expectNoSeriousViolations, expectNoSidewaysScroll, test } from '../support/browser.ts'
import { addPerson, fillSignIn, olga, setUp, signIn } from '../support/people.ts'
import { totp } from '../support/totp.ts'

test.beforeAll(async ({ office }) => {
  await setUp(office)
})

describe('sign-in', () => {
  test('a wrong password is told so, and says what to do; the right one leads to where one wanted to go', async ({
    page,
  }) => {
    await page.goto('/settings/api-keys')
    await page.waitForURL(/\/sign-in\?next=/)
    await fillSignIn(page, { ...olga, password: 'wrong password' })
    await page.getByRole('alert').waitFor()
    await fillSignIn(page, olga)
    await page.getByRole('heading', { name: 'API keys' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/settings/api-keys')
  })

  test('signing out everywhere signs out every other browser as well', async ({ open }) => {
    const [here, elsewhere] = [await open(), await open()]
    await signIn(here)
    await signIn(elsewhere)
    await here.getByRole('button', { name: `Your account: ${olga.name}` }).click()
    await here.getByRole('menuitem', { name: 'Sign out on all devices' }).click()
    await here.getByRole('dialog').getByRole('button', { name: 'Sign out on all devices' }).click()
    await here.getByRole('heading', { name: 'Sign in' }).waitFor()
    await elsewhere.goto('/settings/members')
    await elsewhere.waitForURL(/\/sign-in/)
  })

  test('scripts of the page cannot read the session', async ({ page }) => {
    await signIn(page)
    expect(await page.evaluate('document.cookie')).toBe('')
    const cookies = await page.context().cookies()
    const session = cookies.find(({ name }) => name === 'einmal.session_token')
    expect(session).toMatchObject({ httpOnly: true, sameSite: 'Strict' })
  })
})

describe('a new password', () => {
  test('comes by a link that stands in the log where no mail is sent; the old one and other browsers are out', async ({
    open,
    office,
  }) => {
    const rita = { name: 'Rita Reset', email: 'rita@muster.example', password: 'a password to forget' }
    await addPerson(office, rita, 'agent')
    const [page, other] = [await open(), await open()]
    await signIn(other, rita)
    await page.goto('/sign-in')
    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    await page.getByRole('heading', { name: 'Choose a new password' }).waitFor()
    await page.getByLabel('E-mail').fill(rita.email)
    await page.getByRole('button', { name: 'Make the link' }).click()
    await page.getByText('If rita@muster.example belongs to somebody here').waitFor()
    const link = await office.printed(/"link":"(http:[^"]+\/reset-password#[^"]+)"/)
    await page.goto(link)
    await page.getByLabel('New password').fill('a whole new password')
    await page.getByRole('button', { name: 'Save the password' }).click()
    await page.getByRole('heading', { name: 'Your password is saved' }).waitFor()
    await other.goto('/account')
    await other.waitForURL(/\/sign-in/)
    await signIn(page, { ...rita, password: 'a whole new password' })

    // Once used, the link opens nothing.
    await other.goto(link)
    await other.getByLabel('New password').fill('somebody else’s password')
    await other.getByRole('button', { name: 'Save the password' }).click()
    await other.getByRole('alert').waitFor()
  })
})

describe('two steps', () => {
  test('the app is connected by a first code; then a code is asked for, a recovery code does once, and it is turned off', async ({
    open,
    office,
  }) => {
    const tom = { name: 'Tom Token', email: 'tom@muster.example', password: 'the first of two steps' }
    await addPerson(office, tom, 'agent')
    const page = await open()
    await signIn(page, tom)
    await page.goto('/account')
    await page.getByRole('button', { name: 'Turn it on' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Password', { exact: true }).fill(tom.password)
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await dialog.getByRole('img', { name: 'Picture for your authenticator app' }).waitFor()
    await expectNoSeriousViolations(page)
    const secret = await dialog.getByLabel('Or enter this text into the app').inputValue()
    await dialog.getByLabel('Code from your app').fill('000000')
    await dialog.getByRole('button', { name: 'Turn it on' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Code from your app').fill(totp(secret, new Date()))
    await dialog.getByRole('button', { name: 'Turn it on' }).click()
    await dialog.getByLabel('I have kept the codes').waitFor()
    const codes = await dialog.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem').allTextContents()
    expect(codes.length).toBeGreaterThan(5)
    await dialog.getByLabel('I have kept the codes').check()
    await dialog.getByRole('button', { name: 'Done' }).click()

    const elsewhere = await open()
    await elsewhere.goto('/sign-in')
    await fillSignIn(elsewhere, tom)
    await elsewhere.getByRole('heading', { name: 'Second step' }).waitFor()
    await expectNoSeriousViolations(elsewhere)
    await elsewhere.getByRole('button', { name: 'Use a recovery code' }).click()
    await elsewhere.getByLabel('Recovery code').fill(codes[0] ?? '')
    await elsewhere.getByRole('button', { name: 'Continue' }).click()
    await elsewhere.getByRole('heading', { name: /^Welcome/ }).waitFor()

    const third = await open()
    await third.goto('/sign-in')
    await fillSignIn(third, tom)
    await third.getByRole('button', { name: 'Use a recovery code' }).click()
    await third.getByLabel('Recovery code').fill(codes[0] ?? '')
    await third.getByRole('button', { name: 'Continue' }).click()
    await third.getByRole('alert').waitFor()

    await page.reload()
    await page.getByRole('button', { name: 'Turn it off' }).click()
    await dialog.getByLabel('Password', { exact: true }).fill(tom.password)
    await dialog.getByRole('button', { name: 'Turn it off' }).click()
    await page.getByRole('button', { name: 'Turn it on' }).waitFor()
  })
})

describe('an invitation', () => {
  test('makes a member of somebody new, by a link that is handed over where no mail is sent', async ({ open }) => {
    const owner = await open()
    await signIn(owner)
    await owner.goto('/settings/members')
    await owner.getByRole('button', { name: 'Invite somebody' }).click()
    const dialog = owner.getByRole('dialog')
    await dialog.getByLabel('E-mail').fill('Bo@Muster.example')
    await dialog.getByLabel('Read only').check()
    await dialog.getByRole('button', { name: 'Send the invitation' }).click()
    const link = await dialog.getByLabel('Link').inputValue()
    expect(link).toContain('/invitation#')
    await dialog.getByRole('button', { name: 'Done' }).click()
    await owner.getByRole('button', { name: /^Withdraw ?: bo@muster.example/ }).waitFor()

    const guest = await open({ viewport: { width: 360, height: 740 } })
    await guest.goto(link)
    await guest.getByText('Muster GmbH invites bo@muster.example').waitFor()
    await expectNoSeriousViolations(guest)
    await expectNoSidewaysScroll(guest)
    await guest.getByLabel('Your name').fill('Bo Bote')
    await guest.getByLabel('Password', { exact: true }).fill('another long password')
    await guest.getByRole('button', { name: 'Accept the invitation' }).click()
    await guest.getByRole('heading', { name: 'Welcome, Bo Bote' }).waitFor()

    // What is for others is not shown, and not to be had either.
    await guest.goto('/settings/members')
    await guest.getByRole('heading', { name: 'This page is not for your role' }).waitFor()
    const refused = await guest.request.get('/api/v1/members')
    expect(refused.status()).toBe(403)

    await owner.reload()
    await owner.getByRole('button', { name: /^Remove ?: Bo Bote/ }).click()
    await owner.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await owner.getByText('Bo Bote is no member any more.').waitFor()
    await guest.reload()
    await guest.getByRole('heading', { name: 'You belong to no organisation' }).waitFor()
  })
})

describe('an API key', () => {
  test('is shown once, works, and stops working when it is revoked; a double click makes one', async ({
    page,
    office,
  }) => {
    await signIn(page)
    await page.goto('/settings/api-keys')
    await page.getByRole('button', { name: 'Make a key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('What is it for?').fill('n8n in the shop')
    await dialog.getByLabel('Read', { exact: true }).check()
    await dialog.getByRole('button', { name: 'Make the key' }).dblclick()
    const key = await dialog.getByLabel('Key', { exact: true }).inputValue()
    expect(key).toMatch(/^einmal_[\w-]{64}$/)
    await expectNoSeriousViolations(page)
    const call = (path: string, init: RequestInit = {}) =>
      fetch(`${office.url}/api/v1${path}`, {
        ...init,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      })
    expect((await call('/contacts')).status).toBe(200)
    expect((await call('/contacts', { method: 'POST', body: '{"name":"Kim"}' })).status).toBe(403)
    await dialog.getByLabel('I have kept the key').check()
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.reload()
    const revoke = page.getByRole('button', { name: /^Revoke ?: n8n in the shop/ })
    await revoke.waitFor()
    expect(await revoke.count()).toBe(1)
    expect(await page.content()).not.toContain(key)

    await revoke.click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('n8n in the shop is revoked.').waitFor()
    await expect.poll(async () => (await call('/contacts')).status, { timeout: 10_000 }).toBe(401)

    await page.goto('/settings/audit')
    await page.getByText(olga.name).first().waitFor()
  })

  test('whose answer was lost on the way is made once, and the page says that its key is gone', async ({ page }) => {
    await signIn(page)
    await page.goto('/settings/api-keys')
    // The office commits, and the network cuts: the answer never comes.
    let isCut = false
    await page.route('**/api/v1/api-keys', async (route) => {
      if (route.request().method() !== 'POST' || isCut) return route.continue()
      isCut = true
      await route.fetch()
      await route.abort('connectionreset')
    })
    await page.getByRole('button', { name: 'Make a key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('What is it for?').fill('cut off')
    await dialog.getByRole('button', { name: 'Make the key' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByRole('button', { name: 'Make the key' }).click()
    await dialog.getByText('could only be shown once').waitFor()
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.reload()
    const revoke = page.getByRole('button', { name: /^Revoke ?: cut off/ })
    await revoke.waitFor()
    expect(await revoke.count()).toBe(1)
  })
})

describe('somebody in two organisations', () => {
  test('switches from one to the other, and sees nothing of the first in the second', async ({ page, office }) => {
    const owner = new pg.Client({ connectionString: office.database.ownerUrl })
    await owner.connect()
    await owner.query(
      `with another as (
         insert into organizations (id, name, slug, created_at) values (gen_random_uuid(), 'Zweite GmbH', 'zweite', now()) returning id
       )
       insert into members (id, organization_id, user_id, role, joined_at)
       select gen_random_uuid(), another.id, u.id, 'admin', now() from another, auth."user" as u where u.email = $1`,
      [olga.email],
    )
    await owner.end()
    await signIn(page)
    await page.getByRole('button', { name: 'Organisation: Muster GmbH. Switch' }).click()
    await page.getByRole('menuitemradio', { name: /Zweite GmbH/ }).click()
    await page.getByRole('button', { name: 'Organisation: Zweite GmbH. Switch' }).waitFor()
    await page.goto('/settings/members')
    await page.getByRole('rowheader', { name: /Olga Muster/ }).waitFor()
    expect(await page.getByText('bo@muster.example').count()).toBe(0)
    const me = (await (await page.request.get('/api/v1/me')).json()) as { organization: { name: string; role: string } }
    expect(me.organization).toMatchObject({ name: 'Zweite GmbH', role: 'admin' })
  })
})
