/** Users of the directory, for fields that search. */
import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';

export const USERS_KEY = ['admin', 'users'] as const;

const MOST_FOUND = 20;

/** For a search field: a few users. */
export const userSearchQuery = (text: string) =>
  queryOptions({
    queryKey: [...USERS_KEY, 'found', text],
    queryFn: async () =>
      (
        await unwrap(
          api.GET('/api/v1/admin/users', { params: { query: { query: text, limit: MOST_FOUND } } }),
        )
      ).items,
  });
