import { useQuery } from '@tanstack/react-query';
import { preferencesQuery, useSavePreferences } from '@/features/preferences/preferences';
import type { Kind } from './notifications';

export type Channel = 'browser' | 'email';
export type KindChoices = Readonly<Record<Kind, boolean>>;

interface NotifySettings {
  choices: Readonly<Record<Channel, KindChoices>> | undefined;
  error: Error | null;
  retry: () => void;
  set: (way: Channel, kind: Kind, on: boolean) => void;
  /** the last saved change, announced to screen readers */
  saved: boolean;
}

/**
 * The user's notification settings. A change shows at once, and is reverted if it cannot be saved.
 */
export function useNotifySettings(): NotifySettings {
  const { data, error, refetch } = useQuery(preferencesQuery);
  const { mutate, isSuccess } = useSavePreferences();
  return {
    choices: data?.notify,
    error,
    retry: () => void refetch(),
    set: (way, kind, on) => mutate({ notify: { [way]: { [kind]: on } } }),
    saved: isSuccess,
  };
}
