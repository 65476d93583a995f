let navigated = false

/** Called by the router before each change of page but the first. */
export function markNavigated(): void {
  navigated = true
}

/** Whether somebody came to this page from another of ours. On the first one, the focus stays where the browser puts it. */
export function wasNavigated(): boolean {
  return navigated
}
