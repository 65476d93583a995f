import { Button, Group, TextInput } from '@mantine/core'
import { useRef, useState } from 'react'
import { texts } from '../platform/language/language.ts'
import { useTexts } from '../platform/language/language-context.tsx'
import { CheckIcon, CopyIcon } from './icons.tsx'

const words = texts(
  { copy: 'Copy', copied: 'Copied', byHand: 'Selected: copy it with your keyboard.' },
  { copy: 'Kopieren', copied: 'Kopiert', byHand: 'Markiert: Kopieren Sie es mit der Tastatur.' },
)

interface Props {
  readonly label: string
  readonly value: string
}

/** Something to be taken along, in one click. */
export function CopyField({ label, value }: Props) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <Group align="flex-end" gap="xs" wrap="nowrap">
      <TextInput
        ref={input}
        label={label}
        value={value}
        readOnly
        className="copy-value"
        onFocus={(event) => event.currentTarget.select()}
      />
      <CopyButton value={value} onRefused={() => input.current?.select()} />
    </Group>
  )
}

interface CopyButtonProps {
  readonly value: string
  /** Browsers refuse on a page that came without encryption: then it is to be copied by hand. */
  onRefused(): void
}

export function CopyButton({ value, onRefused }: CopyButtonProps) {
  const say = useTexts(words)
  const [outcome, setOutcome] = useState<'none' | 'copied' | 'refused'>('none')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(value)
      setOutcome('copied')
    } catch {
      onRefused()
      setOutcome('refused')
    }
  }
  return (
    <>
      <Button
        variant="default"
        className="firm"
        leftSection={outcome === 'copied' ? <CheckIcon /> : <CopyIcon />}
        onClick={() => void copy()}
      >
        {say(outcome === 'copied' ? 'copied' : 'copy')}
      </Button>
      <span role="status" className={outcome === 'refused' ? 'firm' : 'unseen'}>
        {outcome === 'none' ? null : say(outcome === 'copied' ? 'copied' : 'byHand')}
      </span>
    </>
  )
}
