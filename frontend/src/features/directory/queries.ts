/** Queries of the directory's users, for search fields. */
import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';

export const USERS_KEY = ['admin', 'users'] as const;

const MAX_FOUND = 20;

/** A query for a search field: the first few matching users. */
export const userSearchQuery = (text: string) =>
  queryOptions({
    queryKey: [...USERS_KEY, 'found', text],
    queryFn: async () =>
      (
        await unwrap(
          api.GET('/api/v1/admin/users', { params: { query: { query: text, limit: MAX_FOUND } } }),
        )
      ).items,
  });
