import { Button, type ButtonProps } from '@mantine/core'

interface Props extends Pick<ButtonProps, 'loading'> {
  /** The record it is about, read out after the word on the button: a list has the same word many times. */
  readonly about: string
  onClick(): void
  readonly children: string
}

/** Something to be done with one record of a list. */
export function RowButton({ about, children, ...props }: Props) {
  return (
    <Button size="compact-sm" fw={500} variant="default" aria-label={`${children}: ${about}`} {...props}>
      {children}
    </Button>
  )
}
