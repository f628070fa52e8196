import { useQuery } from '@tanstack/react-query';
import type { Session } from '@/api/types';
import { useLive, useSession } from '@/live/store';
import { sessionQuery } from './queries';

/** A session as it changes, or one that ended long ago, of which the live connection tells nothing. */
export function useAnySession(id: string): { session: Session | undefined; error: Error | null } {
  const known = useSession(id);
  const loaded = useLive((s) => s.sessions !== null);
  const { data, error } = useQuery({ ...sessionQuery(id), enabled: loaded && !known });
  const session = known ?? data;
  return { session, error: session ? null : error };
}
