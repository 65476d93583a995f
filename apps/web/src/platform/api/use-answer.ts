import { useEffect, useState } from 'react'
import { read } from './request.ts'

/** Reads once, where the page does as well without: `null` until the answer is there, and where there is none. */
export function useAnswer<Answer>(path: string): Answer | null {
  const [answer, setAnswer] = useState<Answer | null>(null)
  useEffect(() => {
    let isWanted = true
    const keep = (found: Answer) => {
      if (isWanted) setAnswer(found)
    }
    read<Answer>(path).then(keep, () => {})
    return () => {
      isWanted = false
    }
  }, [path])
  return answer
}
