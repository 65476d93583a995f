import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Page } from './page.ts'
import { read } from './request.ts'

export interface List<Item> {
  readonly items: readonly Item[]
  readonly isLoading: boolean
  readonly error: unknown
  readonly hasMore: boolean
  readonly isLoadingMore: boolean
  showMore(): void
  refresh(): void
}

const firstPage: string | null = null

/** A list below `/api/v1`, page after page. Each of its readers has the same one. */
export function useList<Item>(path: `/${string}`): List<Item> {
  const query = useInfiniteQuery({
    queryKey: [path],
    queryFn: ({ pageParam }) => read<Page<Item>>(pageParam === null ? path : `${path}?cursor=${pageParam}`),
    initialPageParam: firstPage,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
  })
  const { data } = query
  const items = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data])
  return {
    items,
    isLoading: query.isPending,
    error: query.error,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    showMore: () => void query.fetchNextPage(),
    refresh: () => void query.refetch(),
  }
}

/** For after a write: what these lists show is read anew. */
export function useRefresh(): (...paths: readonly `/${string}`[]) => Promise<void> {
  const queryClient = useQueryClient()
  return async (...paths) => {
    await Promise.all(paths.map((path) => queryClient.invalidateQueries({ queryKey: [path] })))
  }
}
