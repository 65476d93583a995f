import type { Member } from '@einmal/contract'
import { Button, Group, Stack, Title } from '@mantine/core'
import { useState } from 'react'
import { useMe } from '../../frame/me.ts'
import { roleTexts } from '../../frame/role-texts.ts'
import { Empty } from '../../parts/empty.tsx'
import { PlusIcon } from '../../parts/icons.tsx'
import { Moment } from '../../parts/moment.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { type Column, Records } from '../../parts/records.tsx'
import { RowButton } from '../../parts/row-button.tsx'
import { useList } from '../../platform/api/use-list.ts'
import { useTexts } from '../../platform/language/language-context.tsx'
import { Invitations } from './invitations.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { RemoveDialog } from './remove-dialog.tsx'
import { RoleDialog } from './role-dialog.tsx'
import { memberTexts } from './texts.ts'

export function MembersPage() {
  const say = useTexts(memberTexts)
  const [isInviting, setIsInviting] = useState(false)
  const invite = (
    <Button leftSection={<PlusIcon />} onClick={() => setIsInviting(true)}>
      {say('invite')}
    </Button>
  )
  return (
    <Stack gap="xl">
      <PageHead title={say('title')} description={say('description')} action={invite} />
      <Members />
      <section aria-labelledby="invitations">
        <Title order={2} size="h4" mb="sm" id="invitations">
          {say('invitations')}
        </Title>
        <Invitations />
      </section>
      <InviteDialog isOpen={isInviting} onClose={() => setIsInviting(false)} />
    </Stack>
  )
}

type Asked = { readonly about: 'role' | 'removal'; readonly member: Member } | null

function Members() {
  const say = useTexts(memberTexts)
  const list = useList<Member>('/members')
  const [asked, setAsked] = useState<Asked>(null)
  const columns = useColumns((about, member) => setAsked({ about, member }))
  const isAlone = !list.isLoading && list.items.length === 1
  return (
    <>
      <Records label={say('title')} list={list} columns={columns} whenEmpty={null} />
      {isAlone && (
        <Empty>
          <p>{say('alone')}</p>
        </Empty>
      )}
      <RoleDialog member={asked?.about === 'role' ? asked.member : null} onClose={() => setAsked(null)} />
      <RemoveDialog member={asked?.about === 'removal' ? asked.member : null} onClose={() => setAsked(null)} />
    </>
  )
}

function useColumns(onAsk: (about: 'role' | 'removal', member: Member) => void): Column<Member>[] {
  const say = useTexts(memberTexts)
  const sayRole = useTexts(roleTexts)
  const { organization } = useMe()
  /** An administrator leaves owners alone. */
  const mayTouch = ({ role }: Member) => role !== 'owner' || organization?.role === 'owner'
  return [
    {
      name: say('member'),
      isHead: true,
      cell: ({ name, isSelf }) => (
        <>
          {name} {isSelf && <span className="tag">{say('you')}</span>}
        </>
      ),
    },
    { name: say('email'), cell: ({ email }) => <span className="breakable">{email}</span> },
    { name: say('role'), cell: ({ role }) => sayRole(role) },
    { name: say('secondStep'), cell: ({ hasTwoFactor }) => say(hasTwoFactor ? 'secondStepOn' : 'secondStepOff') },
    { name: say('joined'), cell: ({ joinedAt }) => <Moment at={joinedAt} /> },
    {
      name: say('actions'),
      isActions: true,
      cell: (member) => {
        if (!mayTouch(member)) return null
        const { name, isSelf } = member
        return (
          <Group gap="xs">
            <RowButton about={name} onClick={() => onAsk('role', member)}>
              {say('changeRole')}
            </RowButton>
            {!isSelf && (
              <RowButton about={name} onClick={() => onAsk('removal', member)}>
                {say('remove')}
              </RowButton>
            )}
          </Group>
        )
      },
    },
  ]
}
