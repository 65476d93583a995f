import { Anchor, type AnchorProps, Button, type ButtonProps } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import type { AnchorHTMLAttributes, Ref } from 'react'

type Attributes<Props> = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof Props> & {
  readonly ref?: Ref<HTMLAnchorElement>
}

/** A link to another page of ours. */
export const PageLink = createLink((props: AnchorProps & Attributes<AnchorProps>) => (
  <Anchor underline="always" {...props} />
))

/** The same, looking like a button. */
export const PageButton = createLink((props: ButtonProps & Attributes<ButtonProps>) => (
  <Button component="a" {...props} />
))
