import type { InvitationSent, Role } from '@einmal/contract'
import { Stack } from '@mantine/core'
import { useState } from 'react'
import { Dialog } from '../../parts/dialog.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { checks, EmailField, fieldTexts } from '../../parts/fields.tsx'
import { FormActions } from '../../parts/form-actions.tsx'
import { useFields } from '../../parts/use-fields.ts'
import { useAct } from '../../platform/api/act.ts'
import { write } from '../../platform/api/request.ts'
import { useRefresh } from '../../platform/api/use-list.ts'
import { useTexts } from '../../platform/language/language-context.tsx'
import { giveNotice } from '../../platform/notices.ts'
import { HandOver } from './hand-over.tsx'
import { RoleChoice } from './role-choice.tsx'
import { memberTexts } from './texts.ts'

export function InviteDialog({ isOpen, onClose }: { readonly isOpen: boolean; onClose(): void }) {
  const say = useTexts(memberTexts)
  const [unsent, setUnsent] = useState<InvitationSent | null>(null)
  const close = () => {
    setUnsent(null)
    onClose()
  }
  const onMade = (made: InvitationSent) => {
    if (!made.isSent) return setUnsent(made)
    giveNotice(say('sent', { email: made.invitation.email }))
    close()
  }
  return (
    <Dialog
      isOpen={isOpen}
      onClose={close}
      title={say(unsent === null ? 'inviteTitle' : 'linkTitle')}
      mustBeAnswered={unsent !== null}
    >
      {unsent === null ? <InviteForm onMade={onMade} onCancel={close} /> : <HandOver sent={unsent} onDone={close} />}
    </Dialog>
  )
}

function InviteForm({ onMade, onCancel }: { onMade(made: InvitationSent): void; onCancel(): void }) {
  const say = useTexts(memberTexts)
  const sayField = useTexts(fieldTexts)
  const refresh = useRefresh()
  const [role, setRole] = useState<Role>('agent')
  const act = useAct(
    (content: { readonly email: string; readonly role: Role }, key) =>
      write<InvitationSent>('POST', '/invitations', content, key),
    async (made) => {
      await refresh('/invitations')
      onMade(made)
    },
  )
  const { field, whenSound } = useFields({ email: '' }, ({ email }) => {
    const found = checks.email(email)
    return { email: found && sayField(found) }
  })
  return (
    <form noValidate onSubmit={whenSound(({ email }) => act.run({ email: email.trim(), role }))}>
      <Stack>
        <EmailField autoComplete="off" data-autofocus {...field('email')} />
        <RoleChoice value={role} onChange={setRole} />
        <ErrorNote error={act.error} />
        <FormActions submit={say('inviteSubmit')} isPending={act.isPending} onCancel={onCancel} />
      </Stack>
    </form>
  )
}
