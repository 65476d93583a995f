// A process of its own for the test of simultaneous first starts: loads the key of the folder it is told, at the moment
// it is told, and says what it got.
import { loadOrCreateSecretKey } from '../../src/platform/secrets.ts'

process.on('message', (order: { folder: string; atMs: number }) => {
  // Two processes that wake up for it are milliseconds apart; two that spin are not.
  while (performance.timeOrigin + performance.now() < order.atMs);
  loadOrCreateSecretKey(order.folder).then(
    (key) => process.send?.(key.toString('hex')),
    (error: unknown) => process.send?.(String(error)),
  )
})
