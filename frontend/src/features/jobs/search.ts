/** What the list of jobs shows: from and to the page's address, and in the API's words. Pure. */
import type { Job, Outcome } from '@/api/types';

const SHOWN = [
  'live',
  'waiting',
  'running',
  'ended',
  'completed',
  'failed',
  'timeout',
  'out_of_memory',
  'cancelled',
] as const;
export type Shown = (typeof SHOWN)[number];

const ORDERS = ['oldest', 'name', 'name_down', 'ended'] as const;

/** Stands for the jobs of no template; no template can be called so. */
export const NO_TEMPLATE = '-';

export interface JobsSearch {
  /** without it, all */
  state?: Shown;
  /** found in names and Slurm's numbers */
  q?: string;
  template?: string;
  /** a day of the reader's calendar, as 2026-11-22 */
  since?: string;
  /** without it, the newest first */
  order?: (typeof ORDERS)[number];
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

const oneOf = <T extends string>(all: readonly T[], value: unknown): T | undefined =>
  all.find((one) => one === value);

const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';

/** Takes an address's parameters as they are; what means nothing is left out. */
export function readJobsSearch(search: Record<string, unknown>): JobsSearch {
  const state = oneOf(SHOWN, search.state);
  const order = oneOf(ORDERS, search.order);
  const [q, template, since] = [search.q, search.template, search.since].map(textOf);
  return {
    ...(state && { state }),
    ...(q && { q }),
    ...(template && { template }),
    ...(since && DAY.test(since) && !Number.isNaN(Date.parse(since)) && { since }),
    ...(order && { order }),
  };
}

/** Whether anything is left out; the order leaves nothing out. */
export const isFiltered = ({ order: _order, ...filters }: JobsSearch): boolean =>
  Object.keys(filters).length > 0;

const OUTCOMES: Partial<Record<Shown, Outcome[]>> = {
  completed: ['completed'],
  failed: ['failed', 'timeout', 'out_of_memory', 'node_failed'],
  timeout: ['timeout'],
  out_of_memory: ['out_of_memory'],
  cancelled: ['cancelled'],
};

export interface JobsQuery {
  state: 'live' | 'waiting' | 'running' | 'ended' | 'all';
  /** none stand for any */
  outcome: Outcome[];
  template?: string;
  q?: string;
  since?: string;
}

function beginningOf(day: string): string {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number);
  return new Date(year, month - 1, date).toISOString();
}

/** For the API, which counts in moments: a day begins at the reader's midnight. */
export function toQuery({ state, q, template, since }: JobsSearch): JobsQuery {
  const outcome = (state && OUTCOMES[state]) ?? [];
  const plain = state === 'live' || state === 'waiting' || state === 'running' ? state : undefined;
  return {
    state: plain ?? (state === undefined ? 'all' : 'ended'),
    outcome,
    ...(template && { template: template === NO_TEMPLATE ? '' : template }),
    ...(q && { q }),
    ...(since && { since: beginningOf(since) }),
  };
}

type Followed = Pick<
  Job,
  'state' | 'outcome' | 'name' | 'job_id' | 'template' | 'submitted_at' | 'ended_at'
>;

const WAITING = ['submitting', 'queued'];

function isShown({ state, outcome }: Followed, shown: Shown | undefined): boolean {
  const ended = state === 'ended';
  const outcomes = shown && OUTCOMES[shown];
  if (outcomes) return ended && outcome !== null && outcomes.includes(outcome);
  if (shown === undefined) return true;
  if (shown === 'ended') return ended;
  if (ended || shown === 'live') return !ended;
  return WAITING.includes(state) === (shown === 'waiting');
}

/** Whether the portal would list this job; by the portal's own rules. */
export function matches(job: Followed, search: JobsSearch): boolean {
  const { state, q = '', template, since, order } = search;
  if (!isShown(job, state)) return false;
  if (order === 'ended' && job.ended_at === null) return false;
  if (template && job.template !== (template === NO_TEMPLATE ? null : template)) return false;
  if (since && Date.parse(job.submitted_at) < Date.parse(beginningOf(since))) return false;
  const text = q.toLowerCase();
  return text === '' || job.name.toLowerCase().includes(text) || String(job.job_id) === q;
}
