/**
 * `npm run demo`: delivers to a running office over HTTP as real senders do, presses buttons as people do, and shows what
 * counted. Every figure behind the number of requests sent is read back.
 */
import { eventDetail, pageOf, event as registerEvent } from '@einmal/contract'
import type { Clock } from '../platform/clock.ts'
import type { NewId } from '../platform/ids.ts'
import type { DemoFile } from './demo-file.ts'
import { createOfficeClient, type OfficeClient } from './office-client.ts'
import { prepareScenes, type Scene, type Step } from './scenes.ts'

export { DemoError } from './office-client.ts'

export interface DeliverParts {
  readonly clock: Clock
  readonly newId: NewId
  readonly print: (line: string) => void
}

interface Row {
  readonly title: string
  readonly arrived: number
  readonly answers: string
  readonly onRecord: number
  readonly counted: number
  readonly outcome: string
}

/** Plays the scenes and prints the table. Throws `DemoError` where no office answers. */
export async function deliverDemo(demo: DemoFile, parts: DeliverParts): Promise<void> {
  const office = createOfficeClient(demo, parts.newId)
  await office.checkAlive()
  const scenes = await prepareScenes({ ...parts, demo, office })
  const rows: Row[] = []
  for (const scene of scenes) rows.push(await play(scene, office))
  for (const line of table(rows)) parts.print(line)
  parts.print('')
  parts.print(`Deliveries that the office has on record: ${rows.reduce((sum, row) => sum + row.onRecord, 0)}.`)
  parts.print(`Look at one yourself: ${demo.url}/api/docs/ (the key stands in demo.json).`)
}

async function play(scene: Scene, office: OfficeClient): Promise<Row> {
  const answers: { status: number; isFirstPress: boolean }[] = []
  for (const round of scene.rounds) answers.push(...(await Promise.all(round.map((step) => take(step, office)))))
  const eventIds = new Set(scene.rounds.flat().flatMap((step) => ('eventId' in step ? [step.eventId] : [])))
  const facts = new Set<string>()
  let onRecord = 0
  for (const externalId of eventIds) {
    const found = await office.get(`/events?q=${encodeURIComponent(externalId)}`, pageOf(registerEvent))
    for (const { id } of found.items) {
      const { deliveries, effects } = await office.get(`/events/${id}`, eventDetail)
      onRecord += deliveries.length
      for (const { type, id: effectId } of effects) if (type.startsWith('payment')) facts.add(effectId)
    }
  }
  return {
    title: scene.title,
    arrived: answers.length,
    answers: [...Map.groupBy(answers, ({ status }) => status)]
      .map(([status, all]) => `${all.length} × ${status}`)
      .join(', '),
    onRecord,
    counted: facts.size + answers.filter(({ isFirstPress }) => isFirstPress).length,
    outcome: await scene.outcome(),
  }
}

async function take(step: Step, office: OfficeClient): Promise<{ status: number; isFirstPress: boolean }> {
  if ('delivery' in step) return { status: await office.deliver(step.delivery), isFirstPress: false }
  const { status, isReplayed } = await office.press(await step.press())
  return { status, isFirstPress: status < 300 && !isReplayed }
}

function table(rows: readonly Row[]): string[] {
  const head = ['What was sent', 'Arrived', 'Answered', 'Counted', 'Afterwards']
  const cells = rows.map((row) => [row.title, String(row.arrived), row.answers, String(row.counted), row.outcome])
  const widths = head.map((title, column) =>
    Math.max(...[head, ...cells].map((row) => row[column]?.length ?? title.length)),
  )
  const isNumber = (column: number) => column === 1 || column === 3
  const lines = [head, widths.map((width) => '─'.repeat(width)), ...cells].map((row) =>
    row.map((cell, column) =>
      isNumber(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
    ),
  )
  return lines.map((row) => row.join('  ').trimEnd())
}
