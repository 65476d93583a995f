import { useRef, useState } from 'react'
import { createIntent } from './intent.ts'
import { newKey } from './new-key.ts'

export interface Act<Content> {
  /** Does nothing while the same is on its way: a second click is the same act. */
  run(content: Content): void
  readonly isPending: boolean
  /** How the last one ended, if it failed. */
  readonly error: unknown
  /** Forgets how the last one ended. */
  reset(): void
}

/**
 * Something a person does. `perform` gets the key that makes its repetition harmless: until it has succeeded, or its content changes,
 * it stays the same. `onDone` belongs to the act, which is pending until it is through.
 */
export function useAct<Content, Answer>(
  perform: (content: Content, idempotencyKey: string) => Promise<Answer>,
  onDone?: (answer: Answer, content: Content) => void | Promise<void>,
): Act<Content> {
  const [intent] = useState(() => createIntent(newKey))
  const [state, setState] = useState<{ readonly isPending: boolean; readonly error: unknown }>(idle)
  const isRunning = useRef(false)
  const carryOut = async (content: Content) => {
    try {
      const answer = await perform(content, intent.keyFor(content))
      intent.isDone()
      await onDone?.(answer, content)
      setState(idle)
    } catch (error) {
      setState({ isPending: false, error })
    } finally {
      isRunning.current = false
    }
  }
  return {
    ...state,
    run(content) {
      if (isRunning.current) return
      isRunning.current = true
      setState({ isPending: true, error: null })
      void carryOut(content)
    },
    reset: () => setState(idle),
  }
}

const idle = { isPending: false, error: null }
