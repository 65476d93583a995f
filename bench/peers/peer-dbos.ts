/** DBOS: a workflow of one step whose id is the key; in the database, of one transaction. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { DBOS } from '@dbos-inc/dbos-sdk'
import {
  assertStillOwnsWorkflow,
  type DataSourceTransactionHandler,
  isPGKeyConflictError,
  migrateDataSourcePG,
  registerDataSource,
  replayRecordedStep,
  runTransaction,
} from '@dbos-inc/dbos-sdk/datasource'
import pg from 'pg'
import { inTransaction } from '../by-hand.ts'
import { answered, type Event, type Peer, type Settings, told } from './peer.ts'
import { NothingSent, type Work } from './work.ts'

/** How long a call waits for a workflow that runs elsewhere. */
const WAIT_MS = 2_000
const CONNECTIONS = 20
const SOURCE = 'bench'

function configure(databaseUrl: string, name: string, executorID: string): void {
  const quiet = () => undefined
  DBOS.setConfig({
    name,
    systemDatabaseUrl: databaseUrl,
    applicationVersion: name,
    executorID,
    systemDatabasePoolSize: CONNECTIONS,
    logger: { info: quiet, debug: quiet, warn: quiet, error: quiet },
  })
}

export async function prepare(databaseUrl: string): Promise<void> {
  await DBOS.migrate(databaseUrl)
  const pool = new pg.Pool({ connectionString: databaseUrl })
  pool.on('error', () => undefined)
  await migrateSource(pool)
  await pool.end()
}

export async function open(settings: Settings, work: Work): Promise<Peer> {
  const pool = new pg.Pool({ connectionString: settings.databaseUrl, max: CONNECTIONS })
  pool.on('error', () => undefined)
  const current = new AsyncLocalStorage<pg.PoolClient>()
  registerDataSource(createDataSource(pool, current))
  const write = (event: Event) =>
    work.write(event, (text, values) => {
      const client = current.getStore()
      if (client === undefined) throw new Error('outside of a transaction')
      return client.query(text, values)
    })
  const retries = { retriesAllowed: true, intervalSeconds: 0.5, maxAttempts: 5, backoffRate: 2 }
  // A step that is done again must do no harm: at such a target only where nothing was sent.
  const careful = { ...retries, shouldRetry: (error: unknown) => error instanceof NothingSent }
  const workflow = DBOS.registerWorkflow(
    (event: Event) =>
      settings.kind === 'database'
        ? runTransaction(() => write(event), 'write', { dsName: SOURCE })
        : DBOS.runStep(() => work.lookAndAct(event), {
            name: 'act',
            ...(settings.kind === 'neither' ? careful : retries),
          }),
    { name: 'send' },
  )
  configure(settings.databaseUrl, settings.application, settings.executor)
  await DBOS.launch()
  return {
    async call(event) {
      const workflowID = JSON.stringify([event.tenant, event.source, event.id])
      try {
        const handle = await DBOS.startWorkflow(workflow, { workflowID })(event)
        const number = await within(WAIT_MS, handle.getResult({ pollingIntervalMs: 50 }))
        return number === null ? told('in_progress', 'not finished') : answered(number)
      } catch (error) {
        return told('failed', error)
      }
    },
    async close() {
      await DBOS.shutdown()
      await pool.end()
    },
  }
}

/** `null` where it takes longer. */
async function within<T>(ms: number, result: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), ms)
  })
  try {
    return await Promise.race([result, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Its transactions on `pg`, over its interface for data sources: those of its own packages that could be had here were for
 * an older version. The record of the step is committed with the effect.
 */
function createDataSource(pool: pg.Pool, current: AsyncLocalStorage<pg.PoolClient>): DataSourceTransactionHandler {
  return {
    name: SOURCE,
    initialize: () => migrateSource(pool),
    destroy: () => Promise.resolve(),
    async invokeTransactionFunction<This, Args extends unknown[], Return>(
      _config: unknown,
      target: This,
      func: (this: This, ...args: Args) => Promise<Return>,
      ...args: Args
    ): Promise<Return> {
      const { workflowID, stepID } = DBOS
      if (workflowID === undefined || stepID === undefined) throw new Error('outside of a workflow')
      const recorded = await findRecorded(pool, workflowID, stepID)
      if (recorded !== undefined) return replayRecordedStep(recorded)
      try {
        return await inTransaction(pool, async (client) => {
          const result = await current.run(client, () => func.apply(target, args))
          await client.query(
            'insert into dbos.transaction_completion (workflow_id, function_num, output) values ($1, $2, $3)',
            [workflowID, stepID, JSON.stringify({ json: result })],
          )
          await assertStillOwnsWorkflow(workflowID)
          return result
        })
      } catch (error) {
        // Another execution was faster, and what this one did is rolled back.
        const faster = isPGKeyConflictError(error) ? await findRecorded(pool, workflowID, stepID) : undefined
        if (faster === undefined) throw error
        return replayRecordedStep(faster)
      }
    },
  }
}

function migrateSource(pool: pg.Pool): Promise<void> {
  return inTransaction(pool, (client) =>
    migrateDataSourcePG(async (text) => (await client.query<Record<string, unknown>>(text)).rows),
  )
}

async function findRecorded(pool: pg.Pool, workflowID: string, stepID: number) {
  const { rows } = await pool.query<{ output: string | null; error: string | null }>(
    'select output, error from dbos.transaction_completion where workflow_id = $1 and function_num = $2',
    [workflowID, stepID],
  )
  return rows[0]
}
