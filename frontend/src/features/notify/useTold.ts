import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { queryClient } from '@/app/queries';
import { choose, preferencesQuery } from '@/features/account/preferences';
import { complain } from '@/ui/complain';
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
  const [saved, setSaved] = useState(false);
  const { mutate } = useMutation({
    mutationFn: ({ way, kind, on }: { way: Way; kind: Kind; on: boolean }) =>
      choose({ notify: { [way]: { [kind]: on } } }),
    // one after the other, so that the last answer is the newest
    scope: { id: 'preferences' },
    onMutate: async ({ way, kind, on }) => {
      setSaved(false);
      await queryClient.cancelQueries(preferencesQuery);
      const before = queryClient.getQueryData(preferencesQuery.queryKey);
      if (before)
        queryClient.setQueryData(preferencesQuery.queryKey, {
          ...before,
          notify: { ...before.notify, [way]: { ...before.notify[way], [kind]: on } },
        });
      return before;
    },
    onSuccess: () => setSaved(true),
    onError: (refusal, _wish, before) => {
      if (before) queryClient.setQueryData(preferencesQuery.queryKey, before);
      complain(refusal);
    },
  });
  return {
    told: data?.notify,
    error,
    set: (way, kind, on) => mutate({ way, kind, on }),
    saved,
  };
}
