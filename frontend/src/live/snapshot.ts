/** The state that the pages show first. Without it, the layout would shift when the stream delivers
 * it. */
import { api } from '@/api/client';
import type { LiveEvent } from './reducer';

/** The longest that a page waits for it. */
const MAX_WAIT_MS = 2000;

/** Return the user's state; null if the portal does not answer in time, or refuses. */
export async function fetchSnapshot(): Promise<Extract<LiveEvent, { kind: 'snapshot' }> | null> {
  const signal = AbortSignal.timeout(MAX_WAIT_MS);
  const { data } = await api
    .GET('/api/v1/events/snapshot', { signal })
    .catch(() => ({ data: undefined }));
  return data === undefined ? null : { kind: 'snapshot', ...data };
}
