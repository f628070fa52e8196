/** Labels of jobs. Pure. */
import { plural, t } from '@lingui/core/macro';
import type { Job, JobArray, Outcome, Task } from '@/api/types';
import { stateLabel } from '@/features/sessions/labels';
import { joinWithCommas } from '@/i18n/lists';
import { translate } from '@/i18n/translate';
import { resourceTexts } from '@/lib/resourceLabels';
import { duration, minutesAsTime } from '@/lib/time';
import type { StateLabel } from '@/ui/StateChip';

const OUTCOMES: Partial<Record<Outcome, string>> = {
  completed: t`Completed`,
  cancelled: t`Cancelled`,
};

/** Return a job's state label: like a session's, except for the words about its end. */
export function jobStateLabel({ state, outcome }: Pick<Job, 'state' | 'outcome'>): StateLabel {
  const base = stateLabel({ state, outcome });
  if (state === 'stopping') return { ...base, label: t`Ending` };
  const label = state === 'ended' && outcome ? OUTCOMES[outcome] : undefined;
  return label === undefined ? base : { ...base, label };
}

export const hasFailed = (job: Pick<Job, 'state' | 'outcome'>): boolean =>
  job.state === 'ended' && jobStateLabel(job).tone === 'bad';

/** Return whether a job's log may have an error to show. That of an array is in the log of one of its
 * tasks; the job's page links to it. */
export const hasErrorLine = (
  job: Pick<Job, 'state' | 'outcome' | 'started_at' | 'array'>,
): boolean => hasFailed(job) && job.started_at !== null && job.array === null;

/** Return the reason for the state; null if there is none. */
export function jobReason(job: Pick<Job, 'state' | 'outcome' | 'reason' | 'node'>): string | null {
  if (job.reason) return translate(job.reason);
  if (job.state === 'queued') return t`It is waiting for Slurm to schedule it.`;
  if (!hasFailed(job)) return null;
  switch (job.outcome) {
    case 'timeout':
      return t`Its time limit was reached, so Slurm ended it.`;
    case 'out_of_memory':
      return t`It used more memory than it requested, so Slurm ended it.`;
    case 'node_failed':
      return job.node === null
        ? t`The node it ran on failed.`
        : t`The node ${{ node: job.node }} failed.`;
    default:
      return t`It ended with an error; the log may show the cause.`;
  }
}

type Times = Pick<Job, 'state' | 'submitted_at' | 'started_at' | 'ended_at' | 'expires_at'>;

/** Format a job's time: "waiting for 3 min", "running for 12 min, 48 min left", "ran 3 min". */
export function jobTime(job: Times, nowMs: number): string {
  const { started_at: started, ended_at: ended, expires_at: expires } = job;
  if (ended !== null) {
    if (started === null) return t`never ran`;
    return t`ran ${{ time: duration(Date.parse(ended) - Date.parse(started)) }}`;
  }
  if (started === null || job.state === 'queued' || job.state === 'submitting')
    return t`waiting for ${{ time: duration(nowMs - Date.parse(job.submitted_at)) }}`;
  const time = duration(nowMs - Date.parse(started));
  if (expires === null) return t`running for ${time}`;
  const left = Date.parse(expires) - nowMs;
  return left > 0
    ? t`running for ${time}, ${{ left: duration(left) }} left`
    : t`running for ${time}, its time limit is reached`;
}

const COUNTED: [keys: string[], toText: (count: number) => string][] = [
  [['completed'], (count) => t`${count} completed`],
  [['running'], (count) => t`${count} running`],
  [['queued', 'submitting'], (count) => t`${count} queued`],
  [['failed'], (count) => t`${count} failed`],
  [['out_of_memory'], (count) => t`${count} out of memory`],
  [['timeout'], (count) => t`${count} timed out`],
  [['node_failed'], (count) => t`${count} lost their node`],
  [['cancelled'], (count) => t`${count} cancelled`],
];

/** Format an array's tasks: "4 tasks: 2 completed, 1 running, 1 queued". */
export function arrayText({ size, counts }: Pick<JobArray, 'size' | 'counts'>): string {
  const parts = COUNTED.flatMap(([keys, toText]) => {
    const count = keys.reduce((sum, key) => sum + (counts[key] ?? 0), 0);
    return count > 0 ? [toText(count)] : [];
  });
  const tasks = plural(size, { one: '# task', other: '# tasks' });
  return parts.length === 0 ? tasks : t`${tasks}: ${{ counts: joinWithCommas(parts) }}`;
}

/** Return the requested resources; for a job submitted outside the portal, only the time limit is
 * known. */
export function requestedTexts({
  resources,
  external,
}: Pick<Job, 'resources' | 'external'>): string[] {
  if (!external) return resourceTexts(resources);
  const { time_limit_minutes: minutes } = resources;
  return minutes === null ? [] : [minutesAsTime(minutes)];
}

/** Return the title of a job's template, or a description of a job without one. `title`: if known. */
export function templateText(job: Job, title: string | undefined): string {
  if (job.external) return t`submitted outside the portal`;
  return title ?? job.template ?? t`your own script`;
}

/** Format a job's nodes: "node01", "node01, node02", "node01 and 7 more". */
export function nodeNamesText({ node, nodes }: Pick<Job, 'node' | 'nodes'>): string | null {
  const [first] = nodes;
  if (first === undefined || nodes.length === 1) return node ?? first ?? null;
  return nodes.length <= 3
    ? joinWithCommas(nodes)
    : t`${first} and ${{ more: nodes.length - 1 }} more`;
}

/** Format a parameter's value. */
export function parameterText(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–';
  if (typeof value === 'boolean') return value ? t`yes` : t`no`;
  if (Array.isArray(value))
    return value.length === 0 ? '–' : joinWithCommas(value.map(parameterText));
  return String(value);
}

export interface TaskColumns {
  parameters: string[];
  metrics: string[];
}

/** Return the columns of a table of tasks, in order of first appearance. */
export function taskColumns(tasks: readonly Task[]): TaskColumns {
  const names = (pick: (task: Task) => object | null | undefined): string[] => [
    ...new Set(tasks.flatMap((task) => Object.keys(pick(task) ?? {}))),
  ];
  return { parameters: names((task) => task.parameters), metrics: names((task) => task.metrics) };
}
