import { Anchor } from '@mantine/core'
import type { ReactNode } from 'react'

interface Props {
  onClick(): void
  readonly 'aria-expanded'?: boolean
  /** Begins with what can be read on it. */
  readonly 'aria-label'?: string
  readonly children: ReactNode
}

/** A way aside that is no page of its own. */
export function TextButton(props: Props) {
  return <Anchor component="button" type="button" underline="always" fz="inherit" {...props} />
}
