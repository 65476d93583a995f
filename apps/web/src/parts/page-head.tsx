import { Group, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import { wasNavigated } from '../platform/navigated.ts'

interface Props {
  readonly title: string
  readonly description?: ReactNode
  /** The one thing that is done most on this page. */
  readonly action?: ReactNode
}

/** The page's only h1, and the title of the window. After a navigation it has the focus, so that it is read out first. */
export function PageHead({ title, description, action }: Props) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (wasNavigated()) heading.current?.focus()
  }, [])
  return (
    <div className="page-head">
      <title>{`${title} · Einmal`}</title>
      <Group justify="space-between" align="flex-start" gap="md">
        <Title order={1} ref={heading} tabIndex={-1}>
          {title}
        </Title>
        {action}
      </Group>
      {description !== undefined && (
        <Text c="dimmed" maw="44rem">
          {description}
        </Text>
      )}
    </div>
  )
}
