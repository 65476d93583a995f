import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { useAct } from '../../platform/api/act.ts'
import { write } from '../../platform/api/request.ts'
import { useRefresh } from '../../platform/api/use-list.ts'
import { useTexts } from '../../platform/language/language-context.tsx'
import { giveNotice } from '../../platform/notices.ts'
import type { Member } from './shapes.ts'
import { memberTexts } from './texts.ts'

export function RemoveDialog({ member, onClose }: { readonly member: Member; onClose(): void }) {
  const say = useTexts(memberTexts)
  const refresh = useRefresh()
  const { id, name } = member
  const act = useAct(
    (_: 'remove', key) => write<Member>('POST', `/members/${id}/remove`, {}, key),
    async () => {
      giveNotice(say('removed', { name }))
      await refresh('/members')
      onClose()
    },
  )
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={say('removeTitle', { name })}
      text={say('removeText', { name })}
      confirm={say('remove')}
      act={act}
      onConfirm={() => act.run('remove')}
    />
  )
}
