/** The queries of the user's logins in browsers. */
import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';

export const loginsQuery = queryOptions({
  queryKey: ['logins'],
  queryFn: () => unwrap(api.GET('/api/v1/me/logins')),
  staleTime: 0,
});

export const endLogin = (id: string): Promise<unknown> =>
  unwrap(api.DELETE('/api/v1/me/logins/{login_id}', { params: { path: { login_id: id } } }));

export const endOtherLogins = (): Promise<unknown> => unwrap(api.DELETE('/api/v1/me/logins'));
