import { Modal } from '@mantine/core'
import type { ReactNode } from 'react'
import { texts } from '../platform/language/language.ts'
import { useTexts } from '../platform/language/language-context.tsx'

const words = texts({ close: 'Close' }, { close: 'Schließen' })

interface Props {
  readonly isOpen: boolean
  onClose(): void
  readonly title: string
  /** For something that is shown only once: then only the dialog's own button closes it. */
  readonly mustBeAnswered?: boolean
  /** Begins anew each time the dialog opens. */
  readonly children: ReactNode
}

/** A question above the page. It keeps the focus, and gives it back to where it came from. */
export function Dialog({ isOpen, onClose, title, mustBeAnswered = false, children }: Props) {
  const say = useTexts(words)
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={title}
      closeOnEscape={!mustBeAnswered}
      closeOnClickOutside={false}
      withCloseButton={!mustBeAnswered}
      // Its head is no landmark of the page.
      attributes={{ header: { role: 'presentation' } }}
      closeButtonProps={{ 'aria-label': say('close') }}
    >
      {children}
    </Modal>
  )
}
