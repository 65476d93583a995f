export interface Measured {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly non2xx?: number
}

export interface Row {
  readonly work: string
  readonly hand: Measured
  readonly ours: Measured
  readonly ratio: string
}

export function ratio(ours: number, hand: number): string {
  return `${(ours / hand).toFixed(1)} ×`
}

/** Only the ratios outlive the machine; the figures beside them show what they were made of. */
export function report(rows: readonly Row[]): void {
  const width = Math.max(...rows.map((row) => row.work.length))
  process.stdout.write(`\n${'work'.padEnd(width)}  ratio    by hand (p50, p99 ms)        ours (p50, p99 ms)\n`)
  for (const row of rows) {
    process.stdout.write(`${row.work.padEnd(width)}  ${row.ratio.padEnd(7)}  ${text(row.hand)}  ${text(row.ours)}\n`)
  }
}

function text(measured: Measured): string {
  const failed = measured.non2xx ? `, ${measured.non2xx} not 2xx` : ''
  return `${Math.round(measured.perSecond)}/s (${measured.p50Ms.toFixed(1)}, ${measured.p99Ms.toFixed(1)}${failed})`.padEnd(
    27,
  )
}
