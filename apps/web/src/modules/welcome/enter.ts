import { askAuth } from '../../platform/api/request.ts'
import { goTo } from '../../platform/go-to.ts'

/** Signs in with what has just been chosen, and goes to the office. `false` where that did not come about: the account is there all the same. */
export async function enter(email: string, password: string): Promise<boolean> {
  try {
    await askAuth('sign-in/email', { email, password })
  } catch {
    return false
  }
  goTo('/')
  return true
}
