import type { ReactNode } from 'react'

/** Something to know, without any alarm. */
export function Note({ children }: { readonly children: ReactNode }) {
  return <div className="note">{children}</div>
}
