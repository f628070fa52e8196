import { useSuspenseQuery } from '@tanstack/react-query';
import type { Me } from '@/api/types';
import { meQuery } from './queries';

/** Who is logged in. Only for pages behind the login, whose route has already asked. */
export function useMe(): Me {
  return useSuspenseQuery(meQuery).data;
}
