import { readFileSync } from 'node:fs'
import { lchown, readdir, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { EmbeddedPostgresError, setDatabaseUrl } from './embedded-postgres-error.ts'

/** The account a PostgreSQL process runs under; nothing where it is simply our own. */
export type Account = { readonly uid: number; readonly gid: number } | undefined

/**
 * PostgreSQL refuses to run as root, and `nobody` or `postgres` are shared with other programs, which could then read
 * the data. A number without an account belongs to nobody else: above the users of a machine, below systemd's dynamic
 * range.
 */
const privateAccount = { uid: 58_729, gid: 58_729 }

function isRoot(): boolean {
  return process.getuid?.() === 0
}

/**
 * Who runs the server on an existing cluster: as root, the owner of its files, so that a folder stays usable for its
 * user.
 */
export async function serverAccount(clusterFolder: string): Promise<Account> {
  if (!isRoot()) return undefined
  const owner = await stat(clusterFolder)
  if (owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  // A backup that root put back belongs to root.
  await giveFolder(clusterFolder, privateAccount)
  return privateAccount
}

/** Who owns a cluster that is made now. */
export function newClusterAccount(): Account {
  return isRoot() ? privateAccount : undefined
}

/** Who runs initdb, which (unlike the server) insists on an entry in the list of accounts. */
export function initdbAccount(): Account {
  if (isRoot()) return accountOfTheSystem()
  try {
    userInfo()
  } catch {
    throw new EmbeddedPostgresError(
      `The account with the number ${process.getuid?.()} has no name on this machine, and PostgreSQL's initdb needs one. ${setDatabaseUrl}`,
    )
  }
  return undefined
}

function accountOfTheSystem(): Account {
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name, , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter(({ uid, gid }) => uid > 0 && gid > 0)
  const account = accounts.find(({ name }) => name === 'nobody') ?? accounts[0]
  if (!account) {
    throw new EmbeddedPostgresError(
      `PostgreSQL does not run as root, and this machine has no other account to prepare it with. ${setDatabaseUrl}`,
    )
  }
  return { uid: account.uid, gid: account.gid }
}

/** Hands a folder with everything in it to an account. */
export async function giveFolder(folder: string, account: Account): Promise<void> {
  if (!account) return
  const entries = await readdir(folder, { recursive: true })
  for (const path of [folder, ...entries.map((entry) => join(folder, entry))]) {
    await lchown(path, account.uid, account.gid)
  }
}
