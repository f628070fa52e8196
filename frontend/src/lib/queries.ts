/** The questions more than one page asks, with their keys, and when to ask again. */
import { QueryClient, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import { ApiError } from '@/api/problem';

/** A refusal stays a refusal; only a portal that doesn't answer is worth another try. */
function worthAnotherTry(failures: number, error: Error): boolean {
  const refused = error instanceof ApiError && error.status >= 400 && error.status < 500;
  return !refused && failures < 2;
}

export const queryClient = new QueryClient({
  defaultOptions: { queries: { retry: worthAnotherTry, staleTime: 30_000 } },
});

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: () => unwrap(api.GET('/api/v1/me')),
  staleTime: Number.POSITIVE_INFINITY,
});

/** The key under which one job's answer is cached. */
export const jobKey = (id: string) => ['job', id] as const;
