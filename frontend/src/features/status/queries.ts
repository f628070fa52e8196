import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';

export const STATUS_MS = 5000;

/** Polled while the page is open, also after failures. */
export const statusQuery = queryOptions({
  queryKey: ['admin', 'status'],
  queryFn: () => unwrap(api.GET('/api/v1/admin/status')),
  refetchInterval: STATUS_MS,
  retry: false,
  staleTime: 0,
});
