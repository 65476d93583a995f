import { QueryClient } from '@tanstack/react-query'
import { RequestFailed } from '../platform/api/request.ts'

const ATTEMPTS_MAX = 2

/** What the pages of the office have read. It lives as long as the page: whoever signs in, out or over loads a new one. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // Without a network the question fails and the page says so, instead of waiting without a word.
      networkMode: 'always',
      staleTime: 15_000,
      retry: (failures, error) => failures < ATTEMPTS_MAX && mayPass(error),
    },
  },
})

/** A refusal stays one, however often it is asked for. */
function mayPass(error: Error): boolean {
  return error instanceof RequestFailed && (error.code === 'no_answer' || error.status >= 500)
}
