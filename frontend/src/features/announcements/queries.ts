import { infiniteQueryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { AdminAnnouncement } from '@/api/types';
import { queryClient } from '@/lib/queries';
import type { AnnouncementRequest } from './form';

/** Other administrators edit too, and announcements start and end by the clock. */
const REFRESH_MS = 30_000;

export const announcementsQuery = infiniteQueryOptions({
  queryKey: ['admin', 'announcements'],
  queryFn: ({ pageParam }) =>
    unwrap(api.GET('/api/v1/admin/announcements', { params: { query: { cursor: pageParam } } })),
  initialPageParam: null as string | null,
  getNextPageParam: (last) => last.next_cursor ?? null,
  refetchInterval: REFRESH_MS,
  staleTime: 0,
});

const refetch = () => queryClient.invalidateQueries(announcementsQuery);
const pathOf = (id: string) => ({ params: { path: { announcement_id: id } } });

export async function announce(body: AnnouncementRequest): Promise<void> {
  await unwrap(api.POST('/api/v1/admin/announcements', { body }));
  await refetch();
}

export async function editAnnouncement(
  id: string,
  version: number,
  body: Partial<AnnouncementRequest>,
): Promise<void> {
  await unwrap(
    api.PATCH('/api/v1/admin/announcements/{announcement_id}', {
      ...pathOf(id),
      body: { ...body, version },
    }),
  );
  await refetch();
}

export async function deleteAnnouncement(id: string): Promise<void> {
  await unwrap(api.DELETE('/api/v1/admin/announcements/{announcement_id}', pathOf(id)));
  await refetch();
}

/** Refetch an announcement for a form with outdated data; undefined if it is gone. */
export async function freshAnnouncement(id: string): Promise<AdminAnnouncement | undefined> {
  await refetch();
  const pages = queryClient.getQueryData(announcementsQuery.queryKey)?.pages ?? [];
  return pages.flatMap((page) => page.items).find((announcement) => announcement.id === id);
}
