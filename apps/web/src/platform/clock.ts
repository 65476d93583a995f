import { useEffect, useState } from 'react'

const MINUTE_MS = 60_000

/** The time in milliseconds, anew every minute, so that "3 minutes ago" does not stay. */
export function useNow(): number {
  const [nowMs, setNowMs] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), MINUTE_MS)
    return () => clearInterval(timer)
  }, [])
  return nowMs
}

/** A day of the calendar, `days` from today, as an `<input type="date">` takes it. */
export function dayFromToday(days: number): string {
  const day = new Date(Date.now())
  day.setDate(day.getDate() + days)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`
}
