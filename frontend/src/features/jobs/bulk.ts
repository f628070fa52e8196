/** Cancels or removes several jobs, in as many requests as it takes. */
import { api, unwrap } from '@/api/client';
import type { components } from '@/api/schema';
import { queryClient } from '@/lib/queries';
import { live } from '@/live/store';
import { JOBS_KEY } from './queries';
import { type JobsSearch, toQuery } from './search';
import { bundles, type Selection } from './selection';

export type Act = 'cancel' | 'remove';
type Chosen = components['schemas']['Chosen'];
type ManyDone = components['schemas']['ManyDone'];

export interface Outcome {
  /** the ids of those it was done to, which may never have been shown */
  done: string[];
  refused: ManyDone['refused'];
}

const ASK: Record<Act, (body: Chosen) => Promise<ManyDone>> = {
  cancel: async (body) => unwrap(api.POST('/api/v1/jobs/cancel-many', { body })),
  remove: async (body) => unwrap(api.POST('/api/v1/jobs/remove-many', { body })),
};

/** Does it to the chosen ones, telling how many it has come to so far. What fails in the middle leaves what
 * is done done; the list is read again either way. */
export async function actOnMany(
  act: Act,
  selection: Selection,
  search: JobsSearch,
  onProgress: (done: number) => void,
): Promise<Outcome> {
  const all: Outcome = { done: [], refused: [] };
  const ask = async (body: Chosen): Promise<ManyDone> => {
    const answer = await ASK[act](body);
    if (act === 'remove') for (const id of answer.done) live.jobRemoved(id);
    all.done.push(...answer.done);
    all.refused.push(...answer.refused);
    onProgress(all.done.length);
    return answer;
  };
  try {
    if (selection.kind === 'some') {
      for (const ids of bundles([...selection.ids])) await ask({ ids });
    } else {
      const matching = { ...toQuery(search), until: selection.until };
      let answer = await ask({ matching });
      while (answer.left && answer.done.length > 0) answer = await ask({ matching });
    }
  } finally {
    void queryClient.invalidateQueries({ queryKey: JOBS_KEY });
  }
  return all;
}
