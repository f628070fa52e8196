/** Cancels or removes several jobs, in as many requests as necessary. */
import { api, unwrap } from '@/api/client';
import type { components } from '@/api/schema';
import { queryClient } from '@/lib/queries';
import { liveStore } from '@/live/store';
import { JOBS_KEY } from './queries';
import { type JobsSearch, toQuery } from './search';
import { type Selection, toBatches } from './selection';

export type BulkAction = 'cancel' | 'remove';
type JobChoice = components['schemas']['JobChoice'];
type BulkResultOut = components['schemas']['BulkResultOut'];

export interface BulkResult {
  /** the ids of changed jobs, including those not loaded here */
  done: string[];
  refused: BulkResultOut['refused'];
}

const REQUESTS: Record<BulkAction, (body: JobChoice) => Promise<BulkResultOut>> = {
  cancel: async (body) => unwrap(api.POST('/api/v1/jobs/cancel-many', { body })),
  remove: async (body) => unwrap(api.POST('/api/v1/jobs/remove-many', { body })),
};

/** Apply an action to the selected jobs, and report the progress. The jobs before a failure stay
 * changed, so the list is refetched in any case. */
export async function actOnMany(
  action: BulkAction,
  selection: Selection,
  search: JobsSearch,
  onProgress: (done: number) => void,
): Promise<BulkResult> {
  const result: BulkResult = { done: [], refused: [] };
  const send = async (body: JobChoice): Promise<BulkResultOut> => {
    const answer = await REQUESTS[action](body);
    if (action === 'remove') for (const id of answer.done) liveStore.jobRemoved(id);
    result.done.push(...answer.done);
    result.refused.push(...answer.refused);
    onProgress(result.done.length);
    return answer;
  };
  try {
    if (selection.kind === 'some') {
      for (const ids of toBatches([...selection.ids])) await send({ ids });
    } else {
      const matching = { ...toQuery(search), until: selection.until };
      let answer = await send({ matching });
      while (answer.left && answer.done.length > 0) answer = await send({ matching });
    }
  } finally {
    void queryClient.invalidateQueries({ queryKey: JOBS_KEY });
  }
  return result;
}
