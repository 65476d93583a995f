import type { Page } from 'playwright-core'
import type { ServedOffice } from './served-office.ts'

export interface Credentials {
  readonly name: string
  readonly email: string
  readonly password: string
}

export const olga: Credentials = {
  name: 'Olga Muster',
  email: 'olga@muster.example',
  password: 'vier Wörter sind genug',
}

/** The link that the office shows while nobody is here. */
export function setUpLinkOf(office: ServedOffice): Promise<string> {
  return office.printed(/(http:\S+\/set-up#\S+)/)
}

/** Olga's organisation, made past the screens. */
export async function setUp(office: ServedOffice, { name, email, password } = olga): Promise<void> {
  const [, token] = (await setUpLinkOf(office)).split('#')
  const answer = await fetch(`${office.url}/api/v1/set-up`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token, organizationName: 'Muster GmbH', name, email, password }),
  })
  if (answer.status !== 201) throw new Error(`the set-up answered ${answer.status}: ${await answer.text()}`)
}

/** Signs in on the page's own screen, in English. */
export async function signIn(
  page: Page,
  { email, password }: Pick<Credentials, 'email' | 'password'> = olga,
): Promise<void> {
  await page.goto('/sign-in')
  await fillSignIn(page, { email, password })
  await page.getByRole('heading', { name: /^Welcome/ }).waitFor()
}

export async function fillSignIn(
  page: Page,
  { email, password }: Pick<Credentials, 'email' | 'password'>,
): Promise<void> {
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Somebody more in Olga's organisation, made past the screens: invited by her, and accepted. */
export async function addPerson(office: ServedOffice, person: Credentials, role: string): Promise<Credentials> {
  const call = async (path: string, body: object, cookie = '') => {
    const headers = { 'content-type': 'application/json', origin: office.url, cookie }
    const answer = await fetch(`${office.url}/api${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`)
    return answer
  }
  const signedIn = await call('/auth/sign-in/email', { email: olga.email, password: olga.password })
  const cookie = signedIn.headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; ')
  const invited = await call('/v1/invitations', { email: person.email, role }, cookie)
  const { link } = (await invited.json()) as { link: string }
  const { name, password } = person
  await call('/v1/invitations/accept', { token: link.split('#')[1], name, password })
  return person
}
