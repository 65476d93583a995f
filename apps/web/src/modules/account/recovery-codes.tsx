import { Button, Group, Stack, Text } from '@mantine/core'
import { useMe } from '../../frame/me.ts'
import { CopyButton } from '../../parts/copy-field.tsx'
import { DownloadIcon, PrintIcon } from '../../parts/icons.tsx'
import { KeptEnding } from '../../parts/kept-ending.tsx'
import { useFocus } from '../../parts/use-focus.ts'
import { useTexts } from '../../platform/language/language-context.tsx'
import { accountTexts } from './texts.ts'

interface Props {
  readonly codes: readonly string[]
  /** They take the place of others. */
  readonly areNew: boolean
  onDone(): void
}

/** The only time that these codes are there to be seen. */
export function RecoveryCodes({ codes, areNew, onDone }: Props) {
  const say = useTexts(accountTexts)
  const { user } = useMe()
  const paper = useFocus<HTMLDivElement>()
  const head = say('fileHead', { email: user.email })
  const text = codes.join('\n')
  return (
    <Stack>
      <Text>{say('codesText')}</Text>
      {areNew && <Text>{say('codesOld')}</Text>}
      <div className="on-paper" ref={paper} tabIndex={-1}>
        <p className="only-on-paper">{head}</p>
        <ul className="codes" aria-label={say('codes')}>
          {codes.map((code) => (
            <li key={code}>{code}</li>
          ))}
        </ul>
      </div>
      <Group gap="xs">
        <CopyButton value={text} onRefused={() => select(paper.current)} />
        <Button variant="default" leftSection={<DownloadIcon />} onClick={() => save(`${head}\n\n${text}\n`)}>
          {say('download')}
        </Button>
        <Button variant="default" leftSection={<PrintIcon />} onClick={() => window.print()}>
          {say('print')}
        </Button>
      </Group>
      <KeptEnding kept={say('kept')} missing={say('keptMissing')} done={say('done')} onDone={onDone} />
    </Stack>
  )
}

function save(text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = 'einmal-recovery-codes.txt'
  link.click()
  URL.revokeObjectURL(url)
}

function select(element: HTMLElement | null): void {
  if (element !== null) window.getSelection()?.selectAllChildren(element)
}
