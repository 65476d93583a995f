import type { Member } from '@einmal/contract'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { useAct } from '../../platform/api/act.ts'
import { write } from '../../platform/api/request.ts'
import { useRefresh } from '../../platform/api/use-list.ts'
import { useTexts } from '../../platform/language/language-context.tsx'
import { giveNotice } from '../../platform/notices.ts'
import { memberTexts } from './texts.ts'

interface Props {
  /** Open for as long as there is one. */
  readonly member: Member | null
  onClose(): void
}

export function RemoveDialog({ member, onClose }: Props) {
  const say = useTexts(memberTexts)
  const refresh = useRefresh()
  const name = member?.name ?? ''
  const act = useAct(
    (id: string, key) => write<Member>('POST', `/members/${id}/remove`, {}, key),
    async (removed) => {
      giveNotice(say('removed', { name: removed.name }))
      await refresh('/members')
      onClose()
    },
  )
  return (
    <ConfirmDialog
      isOpen={member !== null}
      onClose={onClose}
      title={say('removeTitle', { name })}
      text={say('removeText', { name })}
      confirm={say('remove')}
      act={act}
      onConfirm={() => member !== null && act.run(member.id)}
    />
  )
}
