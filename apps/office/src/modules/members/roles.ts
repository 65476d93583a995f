import { type ApiScope, apiScopes, type Role, roles } from '@einmal/contract'

export { type ApiScope, apiScopes, type Role, roles }

/** Whether somebody of the role `own` may make, change or remove a member of the role `other`: nobody is touched from below. */
export function mayManage(own: Role, other: Role): boolean {
  return own === 'owner' || (own === 'admin' && other !== 'owner')
}
