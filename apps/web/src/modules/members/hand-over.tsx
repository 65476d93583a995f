import type { InvitationSent } from '@einmal/contract'
import { Button, Group, Stack, Text } from '@mantine/core'
import { CopyField } from '../../parts/copy-field.tsx'
import { useFocus } from '../../parts/use-focus.ts'
import { useLanguage, useTexts } from '../../platform/language/language-context.tsx'
import { memberTexts } from './texts.ts'

/** The link of an invitation that no mail could carry. */
export function HandOver({ sent, onDone }: { readonly sent: InvitationSent; onDone(): void }) {
  const say = useTexts(memberTexts)
  const { formats } = useLanguage()
  const step = useFocus<HTMLDivElement>()
  const { email, expiresAt } = sent.invitation
  return (
    <Stack ref={step} tabIndex={-1}>
      {sent.link === null ? (
        <Text>{say('linkGone', { email })}</Text>
      ) : (
        <>
          <Text>{say('linkText', { email, day: formats.day(expiresAt) })}</Text>
          <CopyField label={say('link')} value={sent.link} />
        </>
      )}
      <Group justify="flex-end">
        <Button onClick={onDone}>{say('done')}</Button>
      </Group>
    </Stack>
  )
}
