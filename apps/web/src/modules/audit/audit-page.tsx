import type { AuditEntry } from '@einmal/contract'
import { Stack, Table, Text } from '@mantine/core'
import { useState } from 'react'
import { Empty } from '../../parts/empty.tsx'
import { Moment } from '../../parts/moment.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { type Column, Records } from '../../parts/records.tsx'
import { TextButton } from '../../parts/text-button.tsx'
import { useList } from '../../platform/api/use-list.ts'
import { useLanguage, useTexts } from '../../platform/language/language-context.tsx'
import { describeAction, describeActor, describeField, describeSubject, describeValue } from './describe-entry.ts'
import { type Change, readChange } from './read-change.ts'
import { auditTexts } from './texts.ts'

export function AuditPage() {
  const say = useTexts(auditTexts)
  const list = useList<AuditEntry>('/audit-entries')
  const [openIds, setOpenIds] = useState<ReadonlySet<string>>(new Set())
  const columns = useColumns(openIds, (id) =>
    setOpenIds((before) => new Set(before.has(id) ? [...before].filter((each) => each !== id) : [...before, id])),
  )
  return (
    <Stack gap="lg">
      <PageHead title={say('title')} description={say('description')} />
      <Records
        label={say('title')}
        list={list}
        columns={columns}
        whenEmpty={
          <Empty>
            <p>{say('empty')}</p>
          </Empty>
        }
        below={(entry) => openIds.has(entry.id) && <Details entry={entry} columnCount={columns.length} />}
      />
    </Stack>
  )
}

function useColumns(openIds: ReadonlySet<string>, onToggle: (id: string) => void): Column<AuditEntry>[] {
  const say = useTexts(auditTexts)
  const { language } = useLanguage()
  return [
    { name: say('what'), isHead: true, cell: ({ action }) => describeAction(action, language) },
    { name: say('who'), cell: ({ actor }) => describeActor(actor, language) },
    {
      name: say('record'),
      cell: ({ subject }) => (
        <span>
          {describeSubject(subject.type, language)} <span className="secret">…{subject.id.slice(-6)}</span>
        </span>
      ),
    },
    { name: say('when'), cell: ({ recordedAt }) => <Moment at={recordedAt} /> },
    {
      name: say('details'),
      isActions: true,
      cell: ({ id, action }) => {
        const isOpen = openIds.has(id)
        const label = say(isOpen ? 'hide' : 'show')
        return (
          <TextButton
            onClick={() => onToggle(id)}
            aria-expanded={isOpen}
            aria-label={`${label}: ${describeAction(action, language)}`}
          >
            {label}
          </TextButton>
        )
      },
    },
  ]
}

function Details({ entry, columnCount }: { readonly entry: AuditEntry; readonly columnCount: number }) {
  const say = useTexts(auditTexts)
  const { formats } = useLanguage()
  const changes = readChange(entry.data)
  return (
    <Table.Tr className="records-below">
      <Table.Td colSpan={columnCount}>
        <Text size="sm">{say('exactly', { moment: formats.moment(entry.recordedAt) })}</Text>
        <Text size="sm" mb="xs" className="breakable">
          {say('recordId', { id: entry.subject.id })}
        </Text>
        {changes.length === 0 ? <Text size="sm">{say('noDetails')}</Text> : <Changes changes={changes} />}
      </Table.Td>
    </Table.Tr>
  )
}

function Changes({ changes }: { readonly changes: readonly Change[] }) {
  const say = useTexts(auditTexts)
  const { language, formats } = useLanguage()
  const value = (field: string, given: unknown) => describeValue(field, given, language, formats)
  return (
    <dl className="changes">
      {changes.map((change) => (
        <div key={change.field}>
          <dt>{describeField(change.field, language)}</dt>
          {'before' in change && (
            <dd>
              <span className="changes-when">{say('before')}: </span>
              {value(change.field, change.before)}
            </dd>
          )}
          <dd>
            {'before' in change && <span className="changes-when">{say('after')}: </span>}
            {value(change.field, change.after)}
          </dd>
        </div>
      ))}
    </dl>
  )
}
