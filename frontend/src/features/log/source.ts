/** Whose log is read: a session's, a job's, or that of one task of an array. */
import { api, unwrap } from '@/api/client';
import type { LogPiece } from '@/api/types';

export type Stream = 'stdout' | 'stderr';

export interface LogSource {
  kind: 'sessions' | 'jobs';
  id: string;
  /** of an array: whose */
  task?: number | undefined;
}

/** A piece of it, of `limit` bytes at most; a negative offset counts from the end. */
export function readLog(
  { kind, id, task }: LogSource,
  stream: Stream,
  offset: number,
  limit?: number,
) {
  const query = { stream, offset, ...(limit === undefined ? {} : { limit }) };
  const request =
    kind === 'sessions'
      ? api.GET('/api/v1/sessions/{session_id}/log', {
          params: { path: { session_id: id }, query },
        })
      : api.GET('/api/v1/jobs/{batch_job_id}/log', {
          params: { path: { batch_job_id: id }, query: { ...query, task: task ?? null } },
        });
  return unwrap<LogPiece>(request);
}

const address = ({ kind, id }: LogSource): string =>
  `/api/v1/${kind}/${encodeURIComponent(id)}/log`;

function queryOf({ task }: LogSource, stream: Stream, more: Record<string, string> = {}): string {
  const query = new URLSearchParams({ stream, ...more });
  if (task !== undefined) query.set('task', String(task));
  return query.toString();
}

/** Where the rest of it comes from as it is written. */
export const followUrl = (source: LogSource, stream: Stream, offset: number): string =>
  `${address(source)}/follow?${queryOf(source, stream, { offset: String(offset) })}`;

/** Where all of it can be saved from. */
export const downloadUrl = (source: LogSource, stream: Stream): string =>
  `${address(source)}/download?${queryOf(source, stream)}`;
