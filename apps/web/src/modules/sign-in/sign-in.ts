import { askAuth } from '../../platform/api/request.ts'

export type SignInOutcome = 'entered' | 'code_needed'

/** Signs in with the first step. With `code_needed`, the session begins only after the second. */
export async function signIn(given: { readonly email: string; readonly password: string }): Promise<SignInOutcome> {
  const answer = await askAuth<{ twoFactorRedirect?: boolean }>('sign-in/email', given)
  return answer.twoFactorRedirect === true ? 'code_needed' : 'entered'
}
