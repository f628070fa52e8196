import { useQuery } from '@tanstack/react-query';
import { preferencesQuery, useChoose } from '@/features/account/preferences';
import type { Kind } from './news';

export type Way = 'browser' | 'email';
export type Told = Readonly<Record<Kind, boolean>>;

interface Choosing {
  told: Readonly<Record<Way, Told>> | undefined;
  error: Error | null;
  set: (way: Way, kind: Kind, on: boolean) => void;
  /** what was kept last, for whoever doesn't see the mark change */
  saved: boolean;
}

/** What one wants to be told, and how. A change shows at once, and is taken back if it isn't kept. */
export function useTold(): Choosing {
  const { data, error } = useQuery(preferencesQuery);
  const { mutate, isSuccess } = useChoose();
  return {
    told: data?.notify,
    error,
    set: (way, kind, on) => mutate({ notify: { [way]: { [kind]: on } } }),
    saved: isSuccess,
  };
}
