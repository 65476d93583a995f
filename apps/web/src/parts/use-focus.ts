import { type RefObject, useEffect, useRef } from 'react'

/** For what takes the place of something else, such as the next step of a dialog: it has the focus as soon as it is there. */
export function useFocus<Found extends HTMLElement>(): RefObject<Found | null> {
  const element = useRef<Found>(null)
  useEffect(() => element.current?.focus(), [])
  return element
}
