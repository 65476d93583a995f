/**
 * Goes to a page by loading it anew. Whenever another person, or the same one in another organisation, is at the screen afterwards:
 * then nothing that was read before is left in the memory of the page, and no answer can come late.
 */
export function goTo(path: string): void {
  window.location.assign(path)
}
