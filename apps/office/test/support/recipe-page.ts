import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A page of the documentation, cut into what a test can replay. */
export interface RecipePage {
  /** The text below a heading, to the next one of its rank or above. */
  section(heading: string): string
  /** The fenced blocks of one language below a heading; all of the page without one. */
  blocks(language: string, heading?: string): readonly string[]
  /** The one block of this language below a heading. */
  block(language: string, heading: string): string
}

export function readRecipePage(path: string): RecipePage {
  const lines = readFileSync(join(import.meta.dirname, '../../../..', path), 'utf8').split('\n')
  const ranks = headingRanks(lines)
  const section = (heading: string) => {
    const from = lines.findIndex((line, index) => (ranks[index] ?? 0) > 0 && line.replace(/^#+ /, '') === heading)
    if (from === -1) throw new Error(`${path} has no heading "${heading}"`)
    const length = ranks.slice(from + 1).findIndex((rank) => rank > 0 && rank <= (ranks[from] ?? 0))
    return lines.slice(from + 1, length === -1 ? undefined : from + 1 + length).join('\n')
  }
  const blocks = (language: string, heading?: string) =>
    [...(heading === undefined ? lines.join('\n') : section(heading)).matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
      .filter(([, name]) => name === language)
      .map(([, , text = '']) => text)
  return {
    section,
    blocks,
    block(language, heading) {
      const [only, ...more] = blocks(language, heading)
      if (only === undefined || more.length > 0) throw new Error(`"${heading}" needs one block of ${language}`)
      return only
    },
  }
}

/** How deep the heading of each line is; 0 for a line that is none. In a fenced block, a `#` is a comment. */
function headingRanks(lines: readonly string[]): number[] {
  let isInBlock = false
  return lines.map((line) => {
    if (line.startsWith('```')) isInBlock = !isInBlock
    return isInBlock ? 0 : (/^(#+) /.exec(line)?.[1]?.length ?? 0)
  })
}
