/** Rows under their heads, in columns as wide as what stands in them. Numbers stand at the right. */
export function table(heads: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] {
  const cells = rows.map((row) => row.map(String))
  const widths = heads.map((head, column) => Math.max(head.length, ...cells.map((row) => row[column]?.length ?? 0)))
  const isNumber = heads.map((_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number'))
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return isNumber[column] === true ? cell.padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd()
  return [line(heads), line(widths.map((width) => '─'.repeat(width))), ...cells.map(line)]
}

/** A moment to the second, as everywhere in UTC. */
export function moment(at: Date): string {
  return at.toISOString().replace(/\.\d+Z$/, 'Z')
}

/** JSON for a program. Amounts are numbers, as in the API; one that JavaScript could not hold exactly would be text. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) => {
    if (typeof part !== 'bigint') return part
    const number = Number(part)
    return Number.isSafeInteger(number) ? number : String(part)
  })
}
