import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, unwrap } from '@/api/client';
import { useNow } from '@/lib/useNow';
import { AnnouncementCard } from './AnnouncementCard';
import { visibleAnnouncements, withinLimit } from './current';
import { MoreButton } from './MoreButton';

/** A login page may stay open for a long time. */
const REFRESH_MS = 60_000;
const MAX_SHOWN = 1;
const NONE_DISMISSED: ReadonlySet<string> = new Set();

const publicQuery = queryOptions({
  queryKey: ['announcements', 'public'],
  queryFn: async () => (await unwrap(api.GET('/api/v1/announcements/public'))).items,
  refetchInterval: REFRESH_MS,
  staleTime: 0,
});

/**
 * Announcements shown before the login. If they cannot be fetched, the login form shows the error.
 */
export function PublicAnnouncements() {
  const { data } = useQuery(publicQuery);
  const [open, setOpen] = useState(false);
  const shown = visibleAnnouncements(data ?? [], NONE_DISMISSED, useNow());
  const first = withinLimit(shown, open, MAX_SHOWN);
  return (
    <>
      {first.map((announcement) => (
        <AnnouncementCard key={announcement.id} announcement={announcement} />
      ))}
      <MoreButton more={shown.length - MAX_SHOWN} open={open} onToggle={() => setOpen(!open)} />
    </>
  );
}
