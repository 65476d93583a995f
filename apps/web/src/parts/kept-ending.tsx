import { Button, Checkbox, Group } from '@mantine/core'
import { useState } from 'react'

interface Props {
  /** "I have kept it", what is said to who has not ticked it, and the word on the button. */
  readonly kept: string
  readonly missing: string
  readonly done: string
  onDone(): void
}

/** The end of a dialog with something that is shown once: one says that one has it, and then goes on. */
export function KeptEnding({ kept, missing, done, onDone }: Props) {
  const [isKept, setIsKept] = useState(false)
  const [isAsked, setIsAsked] = useState(false)
  return (
    <>
      <Checkbox
        label={kept}
        checked={isKept}
        error={isAsked && !isKept ? missing : null}
        onChange={(event) => setIsKept(event.currentTarget.checked)}
      />
      <Group justify="flex-end">
        <Button onClick={() => (isKept ? onDone() : setIsAsked(true))}>{done}</Button>
      </Group>
    </>
  )
}
