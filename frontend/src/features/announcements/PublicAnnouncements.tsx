import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import { useNow } from '@/lib/useNow';
import { AnnouncementCard } from './AnnouncementCard';
import { toShow } from './current';

/** A login page may stay open for long. */
const REFRESH_MS = 60_000;
const NOTHING_PUT_AWAY: ReadonlySet<string> = new Set();

const publicQuery = queryOptions({
  queryKey: ['announcements', 'public'],
  queryFn: async () => (await unwrap(api.GET('/api/v1/announcements/public'))).items,
  refetchInterval: REFRESH_MS,
  staleTime: 0,
});

/** What those are told who haven't logged in, or can't. If it can't be asked, the login says so itself. */
export function PublicAnnouncements() {
  const { data } = useQuery(publicQuery);
  const shown = toShow(data ?? [], NOTHING_PUT_AWAY, useNow());
  return shown.map((one) => <AnnouncementCard key={one.id} announcement={one} />);
}
