import { Button, Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Act } from '../platform/api/act.ts'
import { texts } from '../platform/language/language.ts'
import { useTexts } from '../platform/language/language-context.tsx'
import { Dialog } from './dialog.tsx'
import { ErrorNote } from './error-note.tsx'

const words = texts({ cancel: 'Cancel' }, { cancel: 'Abbrechen' })

interface Props {
  readonly isOpen: boolean
  onClose(): void
  readonly title: string
  /** What will be so afterwards. */
  readonly text: ReactNode
  /** The act in a word of its own: never "OK". */
  readonly confirm: string
  readonly act: Pick<Act<never>, 'isPending' | 'error' | 'reset'>
  onConfirm(): void
}

/** Asks before something that cannot be taken back by the same hand. */
export function ConfirmDialog({ isOpen, onClose, title, text, confirm, act, onConfirm }: Props) {
  const say = useTexts(words)
  const close = () => {
    act.reset()
    onClose()
  }
  return (
    <Dialog isOpen={isOpen} onClose={close} title={title}>
      <Stack>
        <Text>{text}</Text>
        <ErrorNote error={act.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close} data-autofocus>
            {say('cancel')}
          </Button>
          <Button color="red.9" loading={act.isPending} onClick={onConfirm}>
            {confirm}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
