import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type PeerName, type TargetKind, targetKinds } from './peer.ts'
import { type Finding, type Scenario, type Verdict, verdicts } from './scenarios.ts'
import type { Played } from './stage.ts'

export interface Result {
  readonly scenario: Scenario
  readonly played: ReadonlyMap<PeerName, Played>
}

const packages: Partial<Record<PeerName, string>> = {
  powertools: '@aws-lambda-powertools/idempotency',
  'node-idempotency': '@node-idempotency/core',
  dbos: '@dbos-inc/dbos-sdk',
}

const kindNames: Record<TargetKind, string> = {
  accepts_key: 'accepts a key',
  searchable: 'searchable',
  neither: 'neither',
  database: 'own database',
}

/** One table in Markdown: a row for each scenario, a column for each peer, and a note for all that is not plain. */
export function toTable(results: readonly Result[], peers: readonly PeerName[], redisVersion?: string): string {
  const notes: string[] = []
  const noted = (text: string) => {
    if (!notes.includes(text)) notes.push(text)
    return notes.indexOf(text) + 1
  }
  const rows = results.map(({ scenario, played }) => {
    const cells = peers.map((peer) => toCell(played.get(peer) ?? new Map(), noted))
    return `| ${[scenario.title, ...cells].join(' | ')} |`
  })
  const versions = installedVersions()
  const heads = peers.map((peer) => `${peer} ${versions[packages[peer] ?? ''] ?? ''}`.trim())
  return [
    '# Who breaks where',
    '',
    'Written by `npm run bench:peers -- --write`. What the verdicts mean, and what each peer was configured as, says the',
    '[README](README.md).',
    '',
    `Node ${process.version}, PostgreSQL 18, ${redisVersion === undefined ? 'no Redis' : `Redis ${redisVersion}`}. The numbers are effects as the`,
    `target counted them, for a target of each kind: ${targetKinds.map((kind) => kindNames[kind]).join(' · ')}. One for each event is right.`,
    'Where there are several events they stand as a sum; “–” is not played. The verdict is that of the worst kind.',
    '',
    `| | ${heads.join(' | ')} |`,
    `| --- | ${heads.map(() => '---').join(' | ')} |`,
    ...rows,
    '',
    ...notes.map((text, index) => `${index + 1}. ${text}`),
    '',
  ].join('\n')
}

function toCell(played: Played, noted: (text: string) => number): string {
  const effects = targetKinds.map((kind) => played.get(kind)?.effects ?? '–').join(' · ')
  const worst = [...played.values()].reduce<Verdict>(
    (before, { verdict }) => (verdicts.indexOf(verdict) > verdicts.indexOf(before) ? verdict : before),
    'holds',
  )
  const marks = [...toNotes(played)].map((text) => `[${noted(text)}]`)
  return `${worst === 'holds' || worst === 'asks a person' ? worst : `**${worst}**`} (${effects}) ${marks.join(' ')}`.trim()
}

/** What is the same at several kinds of target is said once. */
function toNotes(played: Played): string[] {
  const kindsOf = new Map<string, TargetKind[]>()
  for (const [kind, finding] of played) {
    const text = toSentence(finding)
    if (text !== null) kindsOf.set(text, [...(kindsOf.get(text) ?? []), kind])
  }
  return [...kindsOf].map(([text, kinds]) =>
    kinds.length === played.size ? text : `${kinds.map((kind) => kindNames[kind]).join(', ')}: ${text}`,
  )
}

function toSentence({ verdict, fact }: Finding): string | null {
  if (verdict === 'holds') return fact === '' ? null : `${fact}.`
  return fact === '' ? `${verdict}.` : `${verdict}: ${fact}.`
}

function installedVersions(): Record<string, string> {
  const { dependencies } = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8'))
  return dependencies
}
