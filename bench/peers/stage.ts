/** Plays the scenarios: for each peer and each kind of target a judge of its own, and processes that end with it. */
import pg from 'pg'
import { startTarget } from '../../packages/einmal/test/support/target.ts'
import { type Child, startChild } from './child.ts'
import { type PeerName, type TargetKind, targetKinds } from './peer.ts'
import { defaultSettings, type Finding, type Scenario, type Stage, verdicts } from './scenarios.ts'

export interface Servers {
  readonly databaseUrl: string
  readonly redisUrl: string | null
}

/** The findings of one peer in one scenario, by kind of target. */
export type Played = ReadonlyMap<TargetKind, Finding>

export async function play(peer: PeerName, scenario: Scenario, servers: Servers): Promise<Played> {
  const kinds = scenario.kinds ?? targetKinds
  const findings = await Promise.all(kinds.map((kind) => playAt(peer, scenario, kind, servers)))
  return new Map(kinds.map((kind, index) => [kind, findings[index] as Finding]))
}

async function playAt(peer: PeerName, scenario: Scenario, kind: TargetKind, servers: Servers): Promise<Finding> {
  const target = await startTarget(kind === 'database' ? 'neither' : kind)
  const pool = new pg.Pool({ connectionString: servers.databaseUrl, max: 1 })
  pool.on('error', () => undefined)
  const children: Child[] = []
  let started = 0
  const name = `${scenario.name}-${peer}-${kind}`
  const stage: Stage = {
    peer,
    kind,
    name,
    async start(faults = {}, settings = {}) {
      started += 1
      const executor = `${name}-${started}`
      const order = {
        ...defaultSettings,
        ...servers,
        targetUrl: target.url,
        kind,
        application: name,
        executor,
        ...settings,
        peer,
        faults,
      }
      const child = await startChild(order)
      children.push(child)
      return child
    },
    async effects(reference) {
      if (kind !== 'database') return target.effects(encodeURIComponent(reference))
      const { rows } = await pool.query<{ count: number }>(
        'select count(*)::int as count from effects where reference = $1',
        [reference],
      )
      return rows[0]?.count ?? 0
    },
    loseAnswer: () => target.loseAnswers(1),
  }
  try {
    return noted(stage, scenario, await scenario.run(stage))
  } finally {
    await Promise.all(children.map((child) => child.kill()))
    await Promise.all([target.close(), pool.end()])
  }
}

function noted({ peer, kind }: Stage, scenario: Scenario, finding: Finding): Finding {
  const isSound = finding.verdict === 'holds'
  if (peer === 'einmal' && !isSound && scenario.knownLimit?.includes(kind)) {
    return { ...finding, fact: 'the limit that its README names' }
  }
  const reason = scenario.notOffered?.[peer]
  if (reason === undefined) return finding
  if (isSound) return { ...finding, fact: reason }
  return { ...finding, verdict: 'not offered', fact: `${reason}; ${finding.fact || finding.verdict}` }
}

/** Where einmal broke and does not say so itself. */
export function unexpected(scenario: Scenario, played: Played): [TargetKind, Finding][] {
  return [...played].filter(
    ([kind, { verdict }]) =>
      verdicts.indexOf(verdict) > verdicts.indexOf('not offered') && !scenario.knownLimit?.includes(kind),
  )
}
