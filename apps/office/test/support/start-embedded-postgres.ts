// A process of its own for tests that kill it: starts the private database of the folder in argv[2], reports on stdout
// as lines of JSON, and stops on SIGTERM.
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/index.ts'

function report(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

const [dataDir = '', settings = '{}'] = process.argv.slice(2)
try {
  const postgres = await startEmbeddedPostgres({
    dataDir,
    settings: JSON.parse(settings),
    log: (message) => report({ log: message }),
  })
  // The database alone keeps no process alive.
  const alive = setInterval(() => {}, 60_000)
  process.once('SIGTERM', () => {
    void postgres.stop().then(() => clearInterval(alive))
  })
  // Last, because whoever reads it may send the signal at once.
  report({ ownerUrl: postgres.ownerUrl, joined: postgres.joined })
} catch (error) {
  report({ error: error instanceof Error ? error.message : String(error) })
  process.exitCode = 1
}
