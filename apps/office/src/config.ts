import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { z } from 'zod'
import { type Fault, parseFault } from './platform/fault-points.ts'
import { parseSecretKey, type SecretKey } from './platform/secrets.ts'

/** Everything that can be set from outside. The only file that reads the environment. */
export interface Config {
  readonly host: string
  readonly port: number
  readonly dataDir: string
  /** Where people reach the office; links and cookies are made for it. */
  readonly baseUrl: string
  readonly databaseUrl: string | null
  readonly ownerUrl: string | null
  readonly secretKey: SecretKey | null
  readonly demo: boolean
  /** Where mails go out, and what their recipients see as the sender; `null`: nowhere. */
  readonly mail: { readonly url: string; readonly from: string } | null
  readonly logLevel: string
  /** Proxies in front of the office: addresses, ranges, or `loopback`. */
  readonly trustedProxies: readonly string[]
  readonly fault: Fault | null
}

const environment = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(3000),
  EINMAL_DATA_DIR: z.string().default('data'),
  EINMAL_BASE_URL: z.url().optional(),
  DATABASE_URL: z.string().min(1).optional(),
  EINMAL_OWNER_URL: z.string().min(1).optional(),
  EINMAL_SECRET_KEY: z.string().min(1).optional(),
  EINMAL_DEMO: z.enum(['on', 'off']).default('on'),
  EINMAL_SMTP_URL: z
    .url({ protocol: /^smtps?$/, error: 'must be an address such as smtps://user:password@mail.example.org' })
    .optional(),
  EINMAL_MAIL_FROM: z.string().min(3).optional(),
  EINMAL_LOG_LEVEL: z.enum(['silent', 'error', 'warn', 'info', 'debug']).default('info'),
  EINMAL_TRUSTED_PROXIES: z.string().default(''),
  EINMAL_FAULT: z.string().optional(),
})

/** A setting is missing or wrong; the message says which and what would be right. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
}

/** Reads the configuration; throws `ConfigurationError` with the name of each setting that is wrong and what would be right. */
export function readConfig(variables: NodeJS.ProcessEnv = process.env): Config {
  const given = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''))
  const parsed = environment.safeParse(given)
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
    throw new ConfigurationError(`The configuration is not usable.\n  ${problems.join('\n  ')}`)
  }
  const values = parsed.data
  if (values.DATABASE_URL !== undefined && values.EINMAL_SECRET_KEY === undefined) {
    throw new ConfigurationError(
      'EINMAL_SECRET_KEY is missing. With DATABASE_URL several servers may share the database, and all need the same ' +
        'key; make one with: openssl rand -base64 32',
    )
  }
  if (values.EINMAL_SMTP_URL !== undefined && values.EINMAL_MAIL_FROM === undefined) {
    throw new ConfigurationError(
      'EINMAL_MAIL_FROM is missing: the sender of the mails, such as "Office <office@example.org>"',
    )
  }
  return {
    host: values.HOST,
    port: values.PORT,
    dataDir: resolve(values.EINMAL_DATA_DIR),
    baseUrl:
      values.EINMAL_BASE_URL?.replace(/\/+$/, '') ??
      `http://${values.HOST === '0.0.0.0' ? 'localhost' : values.HOST}:${values.PORT}`,
    databaseUrl: values.DATABASE_URL ?? null,
    ownerUrl: values.EINMAL_OWNER_URL ?? null,
    secretKey: readSetting(values.EINMAL_SECRET_KEY, parseSecretKey),
    demo: values.EINMAL_DEMO === 'on' && values.DATABASE_URL === undefined,
    mail:
      values.EINMAL_SMTP_URL === undefined || values.EINMAL_MAIL_FROM === undefined
        ? null
        : { url: values.EINMAL_SMTP_URL, from: values.EINMAL_MAIL_FROM },
    logLevel: values.EINMAL_LOG_LEVEL,
    trustedProxies: readTrustedProxies(values.EINMAL_TRUSTED_PROXIES),
    fault: readSetting(values.EINMAL_FAULT, parseFault),
  }
}

function readTrustedProxies(text: string): string[] {
  const proxies = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  for (const proxy of proxies) {
    if (proxy === 'loopback' || isIP(proxy) !== 0 || isRange(proxy)) continue
    throw new ConfigurationError(
      `EINMAL_TRUSTED_PROXIES: "${proxy}" is neither an address such as 10.0.0.5, nor a range such as 10.0.0.0/24, nor the ` +
        'word loopback. Name the proxies, and not everybody: whoever is named says where a client comes from',
    )
  }
  return proxies
}

/** Everybody is no range: with it, each client could choose its own address. */
function isRange(text: string): boolean {
  const [, address = '', bits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
  const version = isIP(address)
  return version !== 0 && Number(bits) >= 1 && Number(bits) <= (version === 4 ? 32 : 128)
}

function readSetting<T>(text: string | undefined, parse: (text: string) => T): T | null {
  if (text === undefined) return null
  try {
    return parse(text)
  } catch (error) {
    throw new ConfigurationError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}
