import { Button, Skeleton, Table } from '@mantine/core'
import { Fragment, type ReactNode } from 'react'
import type { List } from '../platform/api/use-list.ts'
import { texts } from '../platform/language/language.ts'
import { useTexts } from '../platform/language/language-context.tsx'
import { ErrorNote } from './error-note.tsx'

const words = texts({ more: 'Show more', loading: 'Loading …' }, { more: 'Mehr zeigen', loading: 'Wird geladen …' })

export interface Column<Item> {
  readonly name: string
  readonly cell: (item: Item) => ReactNode
  /** What the row is called; one column. */
  readonly isHead?: boolean
  /** Buttons need no name above them when each row is a card. */
  readonly isActions?: boolean
}

interface Props<Item> {
  /** What is listed, for those who do not see it. */
  readonly label: string
  readonly list: List<Item>
  readonly columns: readonly Column<Item>[]
  /** Instead of an empty table: what will be here, and the first step. */
  readonly whenEmpty: ReactNode
  /** A line below an item that belongs to it. */
  readonly below?: (item: Item) => ReactNode
}

/** A list of records: a table where there is room, and cards on a phone. */
export function Records<Item extends { readonly id: string }>({ label, list, columns, whenEmpty, below }: Props<Item>) {
  const say = useTexts(words)
  if (list.isLoading) {
    return (
      <div role="status">
        <span className="unseen">{say('loading')}</span>
        <Skeleton height={44} mb="xs" animate={false} />
        <Skeleton height={44} mb="xs" animate={false} />
        <Skeleton height={44} animate={false} />
      </div>
    )
  }
  return (
    <div className="records">
      {list.items.length > 0 && (
        <Table aria-label={label} verticalSpacing="sm">
          <Table.Thead>
            <Table.Tr>
              {columns.map(({ name }) => (
                <Table.Th key={name} scope="col">
                  {name}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {list.items.map((item) => (
              <Fragment key={item.id}>
                <Row item={item} columns={columns} />
                {below?.(item)}
              </Fragment>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {list.items.length === 0 && list.error === null && whenEmpty}
      <ErrorNote error={list.error} onRetry={list.refresh} />
      {list.hasMore && (
        <Button variant="default" loading={list.isLoadingMore} onClick={list.showMore}>
          {say('more')}
        </Button>
      )}
    </div>
  )
}

function Row<Item>({ item, columns }: { readonly item: Item; readonly columns: readonly Column<Item>[] }) {
  return (
    <Table.Tr>
      {columns.map(({ name, cell, isHead, isActions }) =>
        isHead === true ? (
          <Table.Th key={name} scope="row">
            {cell(item)}
          </Table.Th>
        ) : (
          <Table.Td key={name} data-label={isActions === true ? undefined : name}>
            {cell(item)}
          </Table.Td>
        ),
      )}
    </Table.Tr>
  )
}
