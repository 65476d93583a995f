import type { Session } from '@einmal/contract'
import { Button, Stack } from '@mantine/core'
import { useState } from 'react'
import { EverywhereDialog } from '../../frame/everywhere-dialog.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Moment } from '../../parts/moment.tsx'
import { type Column, Records } from '../../parts/records.tsx'
import { RowButton } from '../../parts/row-button.tsx'
import { useAct } from '../../platform/api/act.ts'
import { write } from '../../platform/api/request.ts'
import { useList, useRefresh } from '../../platform/api/use-list.ts'
import { useTexts } from '../../platform/language/language-context.tsx'
import { giveNotice } from '../../platform/notices.ts'
import { describeDevice } from './describe-device.ts'
import { accountTexts } from './texts.ts'

export function Sessions() {
  const say = useTexts(accountTexts)
  const list = useList<Session>('/me/sessions')
  const refresh = useRefresh()
  const nameOf = useDeviceName()
  const [endingId, setEndingId] = useState<string | null>(null)
  const [asksEverywhere, setAsksEverywhere] = useState(false)
  const end = useAct(
    (session: Session, key) => write('POST', `/me/sessions/${session.id}/end`, {}, key),
    async (_, session) => {
      giveNotice(say('ended', { device: nameOf(session) }))
      await refresh('/me/sessions')
    },
  )
  const columns = useColumns(end.isPending ? endingId : null, (session) => {
    setEndingId(session.id)
    end.run(session)
  })
  return (
    <Stack>
      <Records label={say('sessions')} list={list} columns={columns} whenEmpty={null} />
      <ErrorNote error={end.error} />
      <Button variant="default" className="at-start" onClick={() => setAsksEverywhere(true)}>
        {say('everywhere')}
      </Button>
      <EverywhereDialog isOpen={asksEverywhere} onClose={() => setAsksEverywhere(false)} />
    </Stack>
  )
}

function useColumns(endingId: string | null, onEnd: (session: Session) => void): Column<Session>[] {
  const say = useTexts(accountTexts)
  const nameOf = useDeviceName()
  return [
    {
      name: say('device'),
      isHead: true,
      cell: (session) => (
        <>
          {nameOf(session)} {session.isCurrent && <span className="tag">{say('here')}</span>}
        </>
      ),
    },
    { name: say('address'), cell: ({ address }) => <span className="breakable">{address}</span> },
    { name: say('since'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
    { name: say('lastSeen'), cell: ({ lastSeenAt }) => <Moment at={lastSeenAt} /> },
    {
      name: say('actions'),
      isActions: true,
      cell: (session) =>
        !session.isCurrent && (
          <RowButton about={nameOf(session)} loading={endingId === session.id} onClick={() => onEnd(session)}>
            {say('end')}
          </RowButton>
        ),
    },
  ]
}

function useDeviceName(): (session: Session) => string {
  const say = useTexts(accountTexts)
  return ({ userAgent }) => {
    const { browser, system } = describeDevice(userAgent)
    if (browser !== null && system !== null) return say('browserOn', { browser, system })
    return browser ?? system ?? say('unknownDevice')
  }
}
