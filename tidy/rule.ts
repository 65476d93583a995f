import type { Finding, Tree } from './tree.ts'

/** A rule of the house. `broken` shows that it can fail and `sound` that it need not; both are run as tests. */
export interface Rule {
  readonly name: string
  check(tree: Tree): Finding[]
  /** Files, path to text, in which the rule must find something. Each is tried by itself. */
  readonly broken: readonly Readonly<Record<string, string>>[]
  readonly sound: Readonly<Record<string, string>>
}

export function treeOf(files: Readonly<Record<string, string>>): Tree {
  return new Map(Object.entries(files))
}
