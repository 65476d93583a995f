import type { Me } from '@einmal/contract'
import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { read } from '../platform/api/request.ts'

/** Who is signed in, and where. */
export const meQuery = queryOptions({ queryKey: ['me'], queryFn: () => read<Me>('/me'), staleTime: 60_000 })

/** Within the office, where somebody is signed in. */
export function useMe(): Me {
  return useSuspenseQuery(meQuery).data
}
