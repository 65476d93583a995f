/** A part of a list. `nextCursor` leads to the next one, and is `null` at the end. */
export interface Page<Item> {
  readonly items: readonly Item[]
  readonly nextCursor: string | null
}
