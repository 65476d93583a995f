import { createDoor, type Door } from '../../src/modules/members/index.ts'
import { createPool } from '../../src/platform/database.ts'
import { createLog } from '../../src/platform/log.ts'
import type { SendMail } from '../../src/platform/mail.ts'
import type { SecretKey } from '../../src/platform/secrets.ts'

/** Where a test's people reach its office. */
export const testAddress = { baseUrl: 'http://localhost:3000', trustedOrigins: ['http://localhost:3000'] }

/** A door of the office on this database; `sendMail` gets its letters. Closing its `db` ends its connections. */
export function createTestDoor(url: string, secretKey: SecretKey, sendMail: SendMail | null = null): Door {
  const pool = createPool({ url, role: 'einmal_auth', maxConnections: 2 })
  return createDoor({ pool, secretKey, address: testAddress, sendMail, log: createLog('silent') })
}
