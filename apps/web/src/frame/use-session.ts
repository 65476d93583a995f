import type { Me } from '@einmal/contract'
import { type Act, useAct } from '../platform/api/act.ts'
import { askAuth, write } from '../platform/api/request.ts'
import { goTo } from '../platform/go-to.ts'
import { tellSessionChange } from './session-changes.ts'

/** Signs out, here or on all devices. */
export function useSignOut(): Act<'here' | 'everywhere'> {
  return useAct(
    (where) => askAuth(where === 'here' ? 'sign-out' : 'revoke-sessions', {}),
    () => {
      tellSessionChange()
      goTo('/sign-in')
    },
  )
}

/** Goes to another of one's organisations, on its start page: the page that was open may not exist there. */
export function useSwitch(): Act<string> {
  return useAct(
    (organizationId: string, key) => write<Me>('POST', '/me/organization', { organizationId }, key),
    () => {
      tellSessionChange()
      goTo('/')
    },
  )
}
