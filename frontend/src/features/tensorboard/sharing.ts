/** Sharing a TensorBoard with users and groups: list, grant, revoke. */
import { t } from '@lingui/core/macro';
import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { SeenTensorboard, Shares } from '@/api/types';
import { joinWithAnd } from '@/i18n/lists';
import { jobKey, queryClient } from '@/lib/queries';

/** The session or job whose TensorBoard it is. */
export interface Parent {
  kind: 'sessions' | 'jobs';
  id: string;
}

export interface ShareTarget {
  kind: 'user' | 'group';
  name: string;
}

export const sharesQuery = ({ kind, id }: Parent) =>
  queryOptions({
    queryKey: ['shares', kind, id],
    queryFn: (): Promise<Shares> =>
      kind === 'sessions'
        ? unwrap(
            api.GET('/api/v1/sessions/{session_id}/shares', {
              params: { path: { session_id: id } },
            }),
          )
        : unwrap(
            api.GET('/api/v1/jobs/{batch_job_id}/shares', {
              params: { path: { batch_job_id: id } },
            }),
          ),
    staleTime: 0,
  });

export const myGroupsQuery = queryOptions({
  queryKey: ['me', 'groups'],
  queryFn: async () => (await unwrap(api.GET('/api/v1/me/groups'))).items,
});

const SHARED_EVERY_MS = 5000;
const MAX_CANDIDATES = 200;

/** A query for TensorBoards shared with the user; polled while the page is visible. */
export const sharedWithMeQuery = queryOptions({
  queryKey: ['shared-with-me'],
  queryFn: async () => {
    const items: SeenTensorboard[] = [];
    let cursor: string | null = null;
    do {
      const query: { shared: boolean; cursor: string | null } = { shared: true, cursor };
      const page: { items: SeenTensorboard[]; next_cursor?: string | null } = await unwrap(
        api.GET('/api/v1/tensorboards', { params: { query } }),
      );
      items.push(...page.items);
      cursor = page.next_cursor ?? null;
    } while (cursor !== null && items.length < MAX_CANDIDATES);
    return items;
  },
  refetchInterval: SHARED_EVERY_MS,
  staleTime: 0,
});

const sessionUser = (id: string, username: string) => ({
  params: { path: { session_id: id, username } },
});
const sessionGroup = (id: string, group: string) => ({
  params: { path: { session_id: id, group } },
});
const jobUser = (id: string, username: string) => ({
  params: { path: { batch_job_id: id, username } },
});
const jobGroup = (id: string, group: string) => ({ params: { path: { batch_job_id: id, group } } });

function put({ kind, id }: Parent, target: ShareTarget): Promise<Shares> {
  const user = target.kind === 'user';
  if (kind === 'sessions')
    return user
      ? unwrap(
          api.PUT('/api/v1/sessions/{session_id}/shares/{username}', sessionUser(id, target.name)),
        )
      : unwrap(
          api.PUT(
            '/api/v1/sessions/{session_id}/shares/groups/{group}',
            sessionGroup(id, target.name),
          ),
        );
  return user
    ? unwrap(api.PUT('/api/v1/jobs/{batch_job_id}/shares/{username}', jobUser(id, target.name)))
    : unwrap(
        api.PUT('/api/v1/jobs/{batch_job_id}/shares/groups/{group}', jobGroup(id, target.name)),
      );
}

function remove({ kind, id }: Parent, target: ShareTarget): Promise<Shares> {
  const user = target.kind === 'user';
  if (kind === 'sessions')
    return user
      ? unwrap(
          api.DELETE(
            '/api/v1/sessions/{session_id}/shares/{username}',
            sessionUser(id, target.name),
          ),
        )
      : unwrap(
          api.DELETE(
            '/api/v1/sessions/{session_id}/shares/groups/{group}',
            sessionGroup(id, target.name),
          ),
        );
  return user
    ? unwrap(api.DELETE('/api/v1/jobs/{batch_job_id}/shares/{username}', jobUser(id, target.name)))
    : unwrap(
        api.DELETE('/api/v1/jobs/{batch_job_id}/shares/groups/{group}', jobGroup(id, target.name)),
      );
}

function updateCache(parent: Parent, shares: Shares): void {
  queryClient.setQueryData(sharesQuery(parent).queryKey, shares);
  if (parent.kind === 'jobs') void queryClient.invalidateQueries({ queryKey: jobKey(parent.id) });
}

export async function share(parent: Parent, target: ShareTarget): Promise<void> {
  updateCache(parent, await put(parent, target));
}

export async function unshare(parent: Parent, target: ShareTarget): Promise<void> {
  updateCache(parent, await remove(parent, target));
}

/** List the users and groups: "bob, carol, and everyone in physics"; null if it is not shared. */
export function sharedText({ shared_with: users, shared_groups: groups }: Shares): string | null {
  const names = [...users, ...groups.map((group) => t`everyone in ${group}`)];
  return names.length === 0 ? null : joinWithAnd(names);
}

type About = Pick<
  SeenTensorboard,
  'kind' | 'owner' | 'owner_name' | 'shared_with_you' | 'shared_groups'
>;

/** Describe a TensorBoard's owner, and how it was shared with the user. */
export function aboutText(tensorboard: About): string {
  const { owner, owner_name } = tensorboard;
  const who = owner_name === '' ? owner : t`${owner_name} (${owner})`;
  const groups = joinWithAnd(tensorboard.shared_groups);
  if (tensorboard.kind === 'job')
    return tensorboard.shared_with_you
      ? t`A job of ${who}, shared with you`
      : t`A job of ${who}, shared with everyone in ${groups}`;
  return tensorboard.shared_with_you
    ? t`A session of ${who}, shared with you`
    : t`A session of ${who}, shared with everyone in ${groups}`;
}
