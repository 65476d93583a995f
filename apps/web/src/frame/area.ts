import type { Role } from '@einmal/contract'
import type { AnyRoute } from '@tanstack/react-router'
import type { ComponentType } from 'react'
import type { Language } from '../platform/language/language.ts'

/** What an area of the office brings: its pages, and how one finds them. */
export interface Area {
  readonly routes: readonly AnyRoute[]
  readonly navigation: readonly NavigationEntry[]
}

export interface NavigationEntry {
  readonly to: string
  readonly label: Readonly<Record<Language, string>>
  readonly icon: ComponentType
  /** Daily work stands above, settings below. */
  readonly group: 'work' | 'settings'
  /** Who may see the page; the office refuses the others anyway. */
  readonly roles: readonly Role[]
}

/** The entries that somebody with this role sees, in their order. */
export function entriesFor(role: Role, areas: readonly Area[]): NavigationEntry[] {
  return areas.flatMap(({ navigation }) => navigation).filter(({ roles }) => roles.includes(role))
}

/** Whether a page is for this role. Pages that are in no navigation are for everybody. */
export function isOpenTo(role: Role, pathname: string, areas: readonly Area[]): boolean {
  const entries = areas.flatMap(({ navigation }) => navigation)
  const [entry] = entries
    .filter(({ to }) => pathname === to || (to !== '/' && pathname.startsWith(`${to}/`)))
    .toSorted((one, other) => other.to.length - one.to.length)
  return entry?.roles.includes(role) ?? true
}
