/** Labels and queries of access tokens. The labels are pure. */
import { plural, t } from '@lingui/core/macro';
import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from '@/api/client';
import type { NewToken, Role, Scope, TokenRequest } from '@/api/types';

export const tokensQuery = queryOptions({
  queryKey: ['tokens'],
  queryFn: () => unwrap(api.GET('/api/v1/tokens')),
  staleTime: 0,
});

export const createToken = (body: TokenRequest): Promise<NewToken> =>
  unwrap(api.POST('/api/v1/tokens', { body }));

export const revokeToken = (id: string): Promise<unknown> =>
  unwrap(api.DELETE('/api/v1/tokens/{token_id}', { params: { path: { token_id: id } } }));

export const SCOPES: Record<Scope, { label: string; description: string }> = {
  read: {
    label: t({ message: 'Read', context: 'what a token may' }),
    description: t`See your sessions, jobs, their logs and the state of the cluster.`,
  },
  sessions: { label: t`Sessions`, description: t`Start and stop sessions and TensorBoards.` },
  jobs: { label: t`Jobs`, description: t`Submit, cancel and remove jobs.` },
  files: { label: t`Files`, description: t`Read, change and delete your files.` },
  ssh: {
    label: t`SSH`,
    description: t`Connect to your running sessions by SSH, as in a terminal.`,
  },
  admin: {
    label: t`Administration`,
    description: t`Everything under “Admin”, as long as you are an administrator.`,
  },
};

/** Return the scopes that this role can give to a token. */
export function scopesFor(role: Role): Scope[] {
  const own: Scope[] = ['read', 'sessions', 'jobs', 'files', 'ssh'];
  return role === 'admin' ? [...own, 'admin'] : own;
}

/** Return the lifetimes to choose from, in days: the usual ones that are allowed, and the longest. */
export function lifetimes(maxDays: number): { value: string; label: string }[] {
  const days = [7, 30, 90, 180, 365].filter((choice) => choice < maxDays);
  return [...days, maxDays].map((value) => ({ value: String(value), label: daysText(value) }));
}

export function daysText(days: number): string {
  return days === 365 ? t`one year` : plural(days, { one: 'one day', other: '# days' });
}

/** Return the default lifetime of a new token: a month, or the longest allowed. */
export const usualLifetime = (maxDays: number): string => String(Math.min(30, maxDays));

/** Return a command that tries a token. It does not contain the token: a shell's history may be
 * read by others. */
export function curlExample(origin: string): string {
  return [
    `read -rs PORTAL_TOKEN   # ${t`paste the token, press Enter`}`,
    `curl -H @- ${origin}/api/v1/me <<<"Authorization: Bearer $PORTAL_TOKEN"`,
  ].join('\n');
}
