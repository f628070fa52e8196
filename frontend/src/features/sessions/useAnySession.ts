import { useQuery } from '@tanstack/react-query';
import type { Session } from '@/api/types';
import { useLive, useSession } from '@/live/store';
import { sessionQuery } from './queries';

/** A session kept up to date, or one that ended too long ago for the event stream. */
export function useAnySession(id: string): {
  session: Session | undefined;
  error: Error | null;
  retry: () => void;
} {
  const streamedSession = useSession(id);
  const loaded = useLive((s) => s.sessions !== null);
  const { data, error, refetch } = useQuery({
    ...sessionQuery(id),
    enabled: loaded && !streamedSession,
  });
  const session = streamedSession ?? data;
  return { session, error: session ? null : error, retry: () => void refetch() };
}
