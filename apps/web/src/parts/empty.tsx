import type { ReactNode } from 'react'

/** What an empty list says: what will be here, and the first step. */
export function Empty({ children }: { readonly children: ReactNode }) {
  return <div className="empty">{children}</div>
}
