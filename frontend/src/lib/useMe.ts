import { useSuspenseQuery } from '@tanstack/react-query';
import type { Me } from '@/api/types';
import { meQuery } from './queries';

/** The logged-in user. Only for pages behind the login, whose route has already fetched it. */
export function useMe(): Me {
  return useSuspenseQuery(meQuery).data;
}
