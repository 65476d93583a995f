import { Button, Group } from '@mantine/core'
import { texts } from '../platform/language/language.ts'
import { useTexts } from '../platform/language/language-context.tsx'

const words = texts({ cancel: 'Cancel' }, { cancel: 'Abbrechen' })

interface Props {
  readonly submit: string
  readonly isPending: boolean
  onCancel(): void
}

/** The end of a form in a dialog. */
export function FormActions({ submit, isPending, onCancel }: Props) {
  const say = useTexts(words)
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={onCancel}>
        {say('cancel')}
      </Button>
      <Button type="submit" loading={isPending}>
        {submit}
      </Button>
    </Group>
  )
}
