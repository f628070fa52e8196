/** Queries that several pages use, with their keys and the retry policy. */
import { QueryClient, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import { ApiError } from '@/api/problem';

/** Return whether to retry: only if the portal does not respond, not after a rejection. */
function worthAnotherTry(failures: number, error: Error): boolean {
  const rejected = error instanceof ApiError && error.status >= 400 && error.status < 500;
  return !rejected && failures < 2;
}

export const queryClient = new QueryClient({
  defaultOptions: { queries: { retry: worthAnotherTry, staleTime: 30_000 } },
});

/** Refetch the queries that failed. */
export function refetchFailed(
  ...queries: readonly { error: Error | null; refetch: () => Promise<unknown> }[]
): void {
  for (const { error, refetch } of queries) if (error) void refetch();
}

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: () => unwrap(api.GET('/api/v1/me')),
  staleTime: Number.POSITIVE_INFINITY,
});

/** Return the cache key of a job. */
export const jobKey = (id: string) => ['job', id] as const;
