/** Asked each time: a server whose port the system chooses knows it a little later. */
export interface OfficeAddress {
  /** Where people reach the office; links are made for it. */
  readonly baseUrl: string
  /** Every origin from which a browser may write, each spelled out; the first is the one that people are told. */
  readonly trustedOrigins: readonly string[]
}
