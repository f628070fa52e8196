/** Whose log is read: a session's, a job's, or that of one task of an array. */
import { api, unwrap } from '@/api/client';
import type { LogPiece } from '@/api/types';

export type Stream = 'stdout' | 'stderr';

export interface LogOf {
  kind: 'sessions' | 'jobs';
  id: string;
  /** of an array: whose */
  task?: number | undefined;
}

/** A piece of it; a negative offset counts from the end. */
export function readLog({ kind, id, task }: LogOf, stream: Stream, offset: number) {
  const request =
    kind === 'sessions'
      ? api.GET('/api/v1/sessions/{session_id}/log', {
          params: { path: { session_id: id }, query: { stream, offset } },
        })
      : api.GET('/api/v1/jobs/{job_id}/log', {
          params: { path: { job_id: id }, query: { stream, offset, task: task ?? null } },
        });
  return unwrap<LogPiece>(request);
}

/** Where the rest of it comes from as it is written. */
export function followUrl({ kind, id, task }: LogOf, stream: Stream, offset: number): string {
  const query = new URLSearchParams({ stream, offset: String(offset) });
  if (task !== undefined) query.set('task', String(task));
  return `/api/v1/${kind}/${encodeURIComponent(id)}/log/follow?${query}`;
}
