import type { Config } from '../config.ts'
import type { OfficeAddress } from '../modules/members/index.ts'

/** Where people reach the office. Of a port that the system chooses, the number is known once the server listens. */
export class Address implements OfficeAddress {
  readonly #config: Pick<Config, 'baseUrl' | 'port'>
  #port: number

  constructor(config: Pick<Config, 'baseUrl' | 'port'>) {
    this.#config = config
    this.#port = config.port
  }

  learn(port: number): void {
    this.#port = port
  }

  get baseUrl(): string {
    const { baseUrl, port } = this.#config
    return port === 0 ? baseUrl.replace(/:0$/, `:${this.#port}`) : baseUrl
  }

  /**
   * Every name by which people reach this address; a browser takes `localhost` and `127.0.0.1` for two. An office that is served over
   * TLS is reached by its own name alone.
   */
  get trustedOrigins(): readonly string[] {
    const own = new URL(this.baseUrl)
    if (own.protocol === 'https:') return [own.origin]
    const names = ['localhost', '127.0.0.1'].map((name) => `http://${name}:${this.#port}`)
    return [...new Set([own.origin, ...names])]
  }
}
