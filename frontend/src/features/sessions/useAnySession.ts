import { useQuery } from '@tanstack/react-query';
import type { Session } from '@/api/types';
import { useLive, useSession } from '@/live/store';
import { sessionQuery } from './queries';

/** A session as it changes, or one that ended long ago and is not in the event stream. */
export function useAnySession(id: string): { session: Session | undefined; error: Error | null } {
  const liveSession = useSession(id);
  const loaded = useLive((s) => s.sessions !== null);
  const { data, error } = useQuery({ ...sessionQuery(id), enabled: loaded && !liveSession });
  const session = liveSession ?? data;
  return { session, error: session ? null : error };
}
