import type { Invitation, InvitationSent } from '@einmal/contract'
import { Group } from '@mantine/core'
import { useState } from 'react'
import { roleTexts } from '../../frame/role-texts.ts'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Empty } from '../../parts/empty.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Moment } from '../../parts/moment.tsx'
import { type Column, Records } from '../../parts/records.tsx'
import { RowButton } from '../../parts/row-button.tsx'
import { useAct } from '../../platform/api/act.ts'
import { write } from '../../platform/api/request.ts'
import { useList, useRefresh } from '../../platform/api/use-list.ts'
import { useLanguage, useTexts } from '../../platform/language/language-context.tsx'
import { giveNotice } from '../../platform/notices.ts'
import { HandOver } from './hand-over.tsx'
import { memberTexts } from './texts.ts'

/** Whoever is invited and not here yet, and how it stands with them. */
export function Invitations() {
  const say = useTexts(memberTexts)
  const list = useList<Invitation>('/invitations')
  const refresh = useRefresh()
  const [withdrawing, setWithdrawing] = useState<Invitation | null>(null)
  const [unsent, setUnsent] = useState<InvitationSent | null>(null)
  const [sendingId, setSendingId] = useState<string | null>(null)
  const send = useAct(
    ({ id }: { readonly id: string }, key) => write<InvitationSent>('POST', `/invitations/${id}/send`, {}, key),
    async (sent) => {
      await refresh('/invitations')
      if (sent.isSent) giveNotice(say('sent', { email: sent.invitation.email }))
      else setUnsent(sent)
    },
  )
  const columns = useColumns({
    sendingId: send.isPending ? sendingId : null,
    onSend: ({ id }) => {
      setSendingId(id)
      send.run({ id })
    },
    onWithdraw: setWithdrawing,
  })
  return (
    <>
      <ErrorNote error={send.error} />
      <Records
        label={say('invitations')}
        list={list}
        columns={columns}
        whenEmpty={
          <Empty>
            <p>{say('noInvitations')}</p>
          </Empty>
        }
      />
      <WithdrawDialog invitation={withdrawing} onClose={() => setWithdrawing(null)} />
      <Dialog isOpen={unsent !== null} onClose={() => setUnsent(null)} title={say('linkTitle')} mustBeAnswered>
        {unsent !== null && <HandOver sent={unsent} onDone={() => setUnsent(null)} />}
      </Dialog>
    </>
  )
}

interface Steps {
  readonly sendingId: string | null
  onSend(invitation: Invitation): void
  onWithdraw(invitation: Invitation): void
}

function useColumns({ sendingId, onSend, onWithdraw }: Steps): Column<Invitation>[] {
  const say = useTexts(memberTexts)
  const sayRole = useTexts(roleTexts)
  const { formats } = useLanguage()
  return [
    { name: say('email'), isHead: true, cell: ({ email }) => <span className="breakable">{email}</span> },
    { name: say('role'), cell: ({ role }) => sayRole(role) },
    {
      name: say('state'),
      cell: ({ state, expiresAt }) =>
        state === 'open' || state === 'expired' ? say(state, { day: formats.day(expiresAt) }) : say(state),
    },
    {
      name: say('invited'),
      cell: ({ createdAt, invitedBy }) => (
        <span>
          <Moment at={createdAt} /> {say('by', { name: invitedBy.name })}
        </span>
      ),
    },
    {
      name: say('actions'),
      isActions: true,
      cell: (invitation) => {
        const { id, email, state } = invitation
        return (
          <Group gap="xs">
            {(state === 'open' || state === 'expired') && (
              <RowButton about={email} loading={sendingId === id} onClick={() => onSend(invitation)}>
                {say('send')}
              </RowButton>
            )}
            {state === 'open' && (
              <RowButton about={email} onClick={() => onWithdraw(invitation)}>
                {say('cancel')}
              </RowButton>
            )}
          </Group>
        )
      },
    },
  ]
}

interface WithdrawProps {
  /** Open for as long as there is one. */
  readonly invitation: Invitation | null
  onClose(): void
}

function WithdrawDialog({ invitation, onClose }: WithdrawProps) {
  const say = useTexts(memberTexts)
  const refresh = useRefresh()
  const email = invitation?.email ?? ''
  const act = useAct(
    (id: string, key) => write<Invitation>('POST', `/invitations/${id}/cancel`, {}, key),
    async (withdrawn) => {
      giveNotice(say('cancelledNow', { email: withdrawn.email }))
      await refresh('/invitations')
      onClose()
    },
  )
  return (
    <ConfirmDialog
      isOpen={invitation !== null}
      onClose={onClose}
      title={say('cancelTitle')}
      text={say('cancelText', { email })}
      confirm={say('cancel')}
      act={act}
      onConfirm={() => invitation !== null && act.run(invitation.id)}
    />
  )
}
