import type { ApiKey } from '@einmal/contract'
import { Anchor, Button, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { Empty } from '../../parts/empty.tsx'
import { PlusIcon } from '../../parts/icons.tsx'
import { Moment } from '../../parts/moment.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { type Column, Records } from '../../parts/records.tsx'
import { RowButton } from '../../parts/row-button.tsx'
import { useAct } from '../../platform/api/act.ts'
import { write } from '../../platform/api/request.ts'
import { useList, useRefresh } from '../../platform/api/use-list.ts'
import { useLanguage, useTexts } from '../../platform/language/language-context.tsx'
import { giveNotice } from '../../platform/notices.ts'
import { MakeDialog } from './make-dialog.tsx'
import { apiKeyTexts } from './texts.ts'

export function ApiKeysPage() {
  const say = useTexts(apiKeyTexts)
  const list = useList<ApiKey>('/api-keys')
  const [isMaking, setIsMaking] = useState(false)
  const [revoking, setRevoking] = useState<ApiKey | null>(null)
  const columns = useColumns(setRevoking)
  const make = (
    <Button leftSection={<PlusIcon />} onClick={() => setIsMaking(true)}>
      {say('make')}
    </Button>
  )
  const empty = (
    <Empty>
      <p>{say('empty')}</p>
    </Empty>
  )
  return (
    <Stack gap="lg">
      <PageHead title={say('title')} description={say('description')} action={make} />
      <Records label={say('title')} list={list} columns={columns} whenEmpty={empty} />
      <Text size="sm">
        <Anchor href="/api/docs/" underline="always">
          {say('docs')}
        </Anchor>
      </Text>
      <MakeDialog isOpen={isMaking} onClose={() => setIsMaking(false)} />
      <RevokeDialog apiKey={revoking} onClose={() => setRevoking(null)} />
    </Stack>
  )
}

function useColumns(onRevoke: (apiKey: ApiKey) => void): Column<ApiKey>[] {
  const say = useTexts(apiKeyTexts)
  const { formats } = useLanguage()
  return [
    { name: say('name'), isHead: true, cell: ({ name }) => name },
    { name: say('start'), cell: ({ start }) => <span className="secret">{start}…</span> },
    { name: say('may'), cell: (apiKey) => apiKey.scopes.map((scope) => say(scope)).join(' · ') },
    {
      name: say('state'),
      cell: ({ state, expiresAt }) => {
        if (state === 'revoked' || expiresAt === null) return say(state === 'revoked' ? 'revoked' : 'valid')
        return say(state === 'expired' ? 'expired' : 'validUntil', { day: formats.day(expiresAt) })
      },
    },
    {
      name: say('made'),
      cell: ({ createdAt, createdBy }) => (
        <span>
          <Moment at={createdAt} /> {createdBy !== null && say('by', { name: createdBy.name })}
        </span>
      ),
    },
    {
      name: say('actions'),
      isActions: true,
      cell: (apiKey) =>
        apiKey.state === 'valid' && (
          <RowButton about={apiKey.name} onClick={() => onRevoke(apiKey)}>
            {say('revoke')}
          </RowButton>
        ),
    },
  ]
}

function RevokeDialog({ apiKey, onClose }: { readonly apiKey: ApiKey | null; onClose(): void }) {
  const say = useTexts(apiKeyTexts)
  const refresh = useRefresh()
  const name = apiKey?.name ?? ''
  const act = useAct(
    (id: string, key) => write<ApiKey>('POST', `/api-keys/${id}/revoke`, {}, key),
    async (revoked) => {
      giveNotice(say('revokedNow', { name: revoked.name }))
      await refresh('/api-keys')
      onClose()
    },
  )
  return (
    <ConfirmDialog
      isOpen={apiKey !== null}
      onClose={onClose}
      title={say('revokeTitle', { name })}
      text={say('revokeText')}
      confirm={say('revoke')}
      act={act}
      onConfirm={() => apiKey !== null && act.run(apiKey.id)}
    />
  )
}
