/** How fast each peer is, against the same work by hand, on the same servers in turns. */
import { inTurns } from '../measure.ts'
import { type Measured, type Row, ratio, report } from '../report.ts'
import { type Child, startChild } from './child.ts'
import type { PeerName, TargetKind } from './peer.ts'
import { defaultSettings } from './scenarios.ts'
import type { Servers } from './stage.ts'

/** In each turn. */
const loads = {
  'one by one': { count: 100, callers: 1 },
  '16 callers': { count: 400, callers: 16 },
}

const stores: Record<PeerName, string> = {
  einmal: 'PostgreSQL',
  'by-hand': 'PostgreSQL',
  dbos: 'PostgreSQL',
  powertools: 'Redis',
  'node-idempotency': 'Redis',
}

export async function measureSpeed(servers: Servers, peers: readonly PeerName[]): Promise<void> {
  const rows: Row[] = []
  for (const kind of ['database', 'accepts_key'] as const) {
    const children = await Promise.all(peers.map((peer) => start(peer, kind, servers)))
    const effect = kind === 'database' ? 'a row' : 'outside'
    for (const [load, { count, callers }] of Object.entries(loads)) {
      // The second time all of them are duplicates.
      for (const time of ['new', 'again']) {
        const turnsOf = (child: Child) => (turn: number) =>
          child.measure({ count, callers, name: `${kind}-${callers}-${turn}` })
        const contestants = peers.map((peer, index) => [peer, turnsOf(children[index] as Child)] as const)
        const measured: Partial<Record<PeerName, Measured>> = await inTurns(Object.fromEntries(contestants))
        rows.push(...toRows(`${effect}, ${load}, ${time}`, peers, measured))
      }
    }
    await Promise.all(children.map((child) => child.kill()))
  }
  process.stdout.write('\n“a row”: the effect is one row in PostgreSQL; “outside”: a target that answers at once.\n')
  report(rows)
}

function toRows(work: string, peers: readonly PeerName[], measured: Partial<Record<PeerName, Measured>>): Row[] {
  const hand = measured['by-hand'] as Measured
  return peers
    .filter((peer) => peer !== 'by-hand')
    .map((peer) => {
      const ours = measured[peer] as Measured
      return { work: `${work}: ${peer} on ${stores[peer]}`, hand, ours, ratio: ratio(ours.perSecond, hand.perSecond) }
    })
}

function start(peer: PeerName, kind: TargetKind, servers: Servers): Promise<Child> {
  const name = `speed-${peer}-${kind}`
  const settings = { ...defaultSettings, ...servers, leaseMs: 30_000, targetUrl: '', application: name, executor: name }
  return startChild({ ...settings, peer, kind, faults: {}, isInstant: true })
}
