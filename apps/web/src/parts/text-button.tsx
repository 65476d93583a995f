import { Anchor } from '@mantine/core'
import type { ReactNode } from 'react'

/** A way aside that is no page of its own. */
export function TextButton({ onClick, children }: { onClick(): void; readonly children: ReactNode }) {
  return (
    <Anchor component="button" type="button" underline="always" onClick={onClick}>
      {children}
    </Anchor>
  )
}
