import { Button, type ButtonProps } from '@mantine/core'
import type { ReactNode } from 'react'

interface Props extends Pick<ButtonProps, 'loading'> {
  /** The record it is about, read out after the word on the button: a list has the same word many times. */
  readonly about: string
  onClick(): void
  readonly children: ReactNode
}

/** Something to be done with one record of a list. */
export function RowButton({ about, children, ...props }: Props) {
  return (
    <Button size="compact-sm" fw={500} variant="default" {...props}>
      {children}
      <span className="unseen">: {about}</span>
    </Button>
  )
}
