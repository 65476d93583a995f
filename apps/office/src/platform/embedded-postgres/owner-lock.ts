import { existsSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** Held by the one process that may prepare, start and stop the database of a data folder. */
export interface OwnerLock {
  release(): void
}

/**
 * Takes the lock of the data folder, or returns nothing when another process (or another call in this process) holds
 * it.
 *
 * Node has no file locks of its own, and a file with a process id lies after `kill -9`, in containers and when ids are
 * used again. SQLite takes a real one: the kernel drops it when the process dies, by whatever means, and it holds
 * between containers that share the folder. Nothing is ever written to the file.
 */
export function tryOwnerLock(path: string): OwnerLock | undefined {
  createFile(path)
  const file = new DatabaseSync(path, { timeout: 0 })
  try {
    file.exec('begin exclusive')
  } catch (error) {
    file.close()
    if (isBusy(error)) return undefined
    throw error
  }
  return { release: () => file.close() }
}

/** SQLite would create it readable for everybody, and whoever may read it may hold us off. */
function createFile(path: string): void {
  // An existing file must not be opened here: closing any descriptor of it would drop the lock that this process may
  // hold.
  if (existsSync(path)) return
  try {
    writeFileSync(path, '', { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}

function isBusy(error: unknown): boolean {
  const sqliteBusy = 5
  return error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy
}
