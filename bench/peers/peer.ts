/** What every peer is asked to do, and what it is given to do it with. */
import type { Work } from './work.ts'

export const peerNames = ['einmal', 'by-hand', 'powertools', 'node-idempotency', 'dbos'] as const
export type PeerName = (typeof peerNames)[number]

/** Three kinds of system outside, and a table in the database that the peer may use as well. */
export const targetKinds = ['accepts_key', 'searchable', 'neither', 'database'] as const
export type TargetKind = (typeof targetKinds)[number]

/** What arrives. The judge counts by `reference`, which no peer may use. */
export interface Event {
  readonly tenant: string
  readonly source: string
  readonly id?: string | null
  readonly amount: number
  readonly reference: string
}

/** `answered`: with the number that the target gave to the effect; `null` where only the fact is remembered. */
export type Answer =
  | { readonly kind: 'answered'; readonly number: number | null }
  | { readonly kind: 'told'; readonly word: Word; readonly message: string }

export type Word = 'in_progress' | 'conflict' | 'unknown' | 'refused' | 'failed' | 'lost'

export interface Settings {
  readonly databaseUrl: string
  /** `null` where there is no Redis: the peers that need one are left out. */
  readonly redisUrl: string | null
  readonly targetUrl: string
  readonly kind: TargetKind
  /** After what silence another process may go on. */
  readonly leaseMs: number
  /** How long a finished key is kept, where that is a setting. */
  readonly keepMs: number
  /** Whether the peer shall compare the amounts of two events under one key. */
  readonly isContentCompared: boolean
  /** Names the program: processes of another one have nothing to do with it. */
  readonly application: string
  /** Names the process; one that is started in the place of another has its name. */
  readonly executor: string
}

export interface Peer {
  call(event: Event): Promise<Answer>
  /** Lets the peer forget what is old, where it does not do so by itself. */
  forget?(tenant: string): Promise<void>
  close(): Promise<void>
}

export interface PeerModule {
  /** Makes tables, once for each database. */
  prepare?(databaseUrl: string): Promise<void>
  open(settings: Settings, work: Work): Promise<Peer>
}

/** Loaded by name, so that one that is not installed hinders no other. */
export async function loadPeer(name: PeerName): Promise<PeerModule> {
  const module: PeerModule = await import(`./peer-${name}.ts`)
  return module
}

export function told(word: Word, error: unknown): Answer {
  return { kind: 'told', word, message: error instanceof Error ? error.message : String(error) }
}

export function answered(number: number | null): Answer {
  return { kind: 'answered', number }
}
