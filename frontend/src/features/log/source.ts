/** The source of a log: a session, a job, or one task of an array. */
import { api, unwrap } from '@/api/client';
import type { LogPiece } from '@/api/types';

export type Stream = 'stdout' | 'stderr';

export interface LogSource {
  kind: 'sessions' | 'jobs';
  id: string;
  /** the task of an array */
  task?: number | undefined;
}

/** Read a piece of at most `limit` bytes; a negative offset counts from the end. */
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

/** Return the address of the event stream that follows the log from `offset`. */
export const followUrl = (source: LogSource, stream: Stream, offset: number): string =>
  `${address(source)}/follow?${queryOf(source, stream, { offset: String(offset) })}`;

/** Return the address to download the whole log. */
export const downloadUrl = (source: LogSource, stream: Stream): string =>
  `${address(source)}/download?${queryOf(source, stream)}`;
