import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The files of the project: path from its root, with slashes, and text. */
export type Tree = ReadonlyMap<string, string>

export interface Finding {
  readonly path: string
  /** Counted from 1; 0 where the finding is about the file as a whole. */
  readonly line: number
  readonly message: string
}

const root = join(import.meta.dirname, '..')

/** Files that hold no text of ours. */
const binary = /\.(png|jpg|ico|woff2|pdf)$/

/** Reads every file that is tracked, or would be with the next `git add`, once. */
export function readTree(): Tree {
  const paths = listPaths().filter((path) => !binary.test(path))
  return new Map(paths.flatMap((path) => readIfThere(path)))
}

function readIfThere(path: string): [string, string][] {
  try {
    return [[path, readFileSync(join(root, path), 'utf8')]]
  } catch {
    // Tracked, and deleted since.
    return []
  }
}

function listPaths(): string[] {
  try {
    const options = ['ls-files', '--cached', '--others', '--exclude-standard', '-z']
    return execFileSync('git', options, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      .split('\0')
      .filter((path) => path !== '')
      .toSorted()
  } catch {
    // An unpacked archive, or a machine without git.
    return listFolder('')
  }
}

const untracked = new Set(['.git', 'node_modules', 'dist', 'data', 'coverage'])

function listFolder(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (untracked.has(entry.name)) return []
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    return entry.isDirectory() ? listFolder(path) : [path]
  })
}

/** TypeScript that runs in the product: no tests, no tools. */
export function isSource(path: string): boolean {
  return /^(packages|apps)\/[^/]+\/src\/.*\.tsx?$/.test(path) && !path.endsWith('.test.ts')
}

export function isTypeScript(path: string): boolean {
  return /\.tsx?$/.test(path)
}

/**
 * The lines of a file without comments, so that a rule does not stumble over the sentence that explains it. Strings
 * stay. Good enough without a parser, because the formatter puts a comment on lines of its own.
 */
export function codeLines(text: string): string[] {
  let isInComment = false
  return text.split('\n').map((line) => {
    const trimmed = line.trim()
    if (isInComment) {
      if (trimmed.includes('*/')) isInComment = false
      return ''
    }
    if (trimmed.startsWith('/*')) {
      isInComment = !trimmed.includes('*/')
      return ''
    }
    return trimmed.startsWith('//') ? '' : line.replace(/\s\/\/ .*$/, '')
  })
}

/** A finding for each line that matches. */
export function findLines(
  tree: Tree,
  look: {
    readonly where: (path: string) => boolean
    readonly pattern: RegExp
    readonly message: string
    readonly linesOf: (text: string) => string[]
  },
): Finding[] {
  return [...tree].flatMap(([path, text]) =>
    look.where(path)
      ? look.linesOf(text).flatMap((line, index) => {
          return look.pattern.test(line) ? [{ path, line: index + 1, message: look.message }] : []
        })
      : [],
  )
}
