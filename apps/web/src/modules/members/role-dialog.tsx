import type { Member, Role } from '@einmal/contract'
import { Stack } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { meQuery } from '../../frame/me.ts'
import { roleTexts } from '../../frame/role-texts.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { FormActions } from '../../parts/form-actions.tsx'
import { useAct } from '../../platform/api/act.ts'
import { write } from '../../platform/api/request.ts'
import { useRefresh } from '../../platform/api/use-list.ts'
import { useTexts } from '../../platform/language/language-context.tsx'
import { giveNotice } from '../../platform/notices.ts'
import { RoleChoice } from './role-choice.tsx'
import { memberTexts } from './texts.ts'

interface Props {
  /** Open for as long as there is one. */
  readonly member: Member | null
  onClose(): void
}

export function RoleDialog({ member, onClose }: Props) {
  const say = useTexts(memberTexts)
  const name = member?.name ?? ''
  return (
    <Dialog isOpen={member !== null} onClose={onClose} title={say('roleTitle', { name })}>
      {member !== null && <RoleForm member={member} onClose={onClose} />}
    </Dialog>
  )
}

function RoleForm({ member, onClose }: { readonly member: Member; onClose(): void }) {
  const say = useTexts(memberTexts)
  const sayRole = useTexts(roleTexts)
  const refresh = useRefresh()
  const queryClient = useQueryClient()
  const [role, setRole] = useState<Role>(member.role)
  const act = useAct(
    (content: { readonly role: Role }, key) => write<Member>('PATCH', `/members/${member.id}`, content, key),
    async (changed) => {
      giveNotice(say('roleSaved', { name: changed.name, role: sayRole(changed.role) }))
      // One's own role decides what the navigation shows.
      if (member.isSelf) await queryClient.invalidateQueries(meQuery)
      await refresh('/members')
      onClose()
    },
  )
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (role === member.role) onClose()
        else act.run({ role })
      }}
    >
      <Stack>
        <RoleChoice value={role} onChange={setRole} />
        <ErrorNote error={act.error} />
        <FormActions submit={say('save')} isPending={act.isPending} onCancel={onClose} />
      </Stack>
    </form>
  )
}
