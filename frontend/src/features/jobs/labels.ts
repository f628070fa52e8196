/** Labels of jobs. Pure. */
import { plural, t } from '@lingui/core/macro';
import type { Job, JobArray, Outcome, Task } from '@/api/types';
import { stateLabel } from '@/features/sessions/labels';
import { joinWithCommas } from '@/i18n/lists';
import { translate } from '@/i18n/translate';
import { resourceTexts } from '@/lib/resourceLabels';
import { duration, minutesAsTime } from '@/lib/time';
import type { StateLabel } from '@/ui/StateChip';

const OUTCOMES: Partial<Record<Outcome, StateLabel>> = {
  completed: { label: t`Completed`, tone: 'good' },
  cancelled: { label: t`Cancelled`, tone: 'quiet' },
};

/** A job works while it runs; that it is done is the good news. */
export function jobStateLabel({ state, outcome }: Pick<Job, 'state' | 'outcome'>): StateLabel {
  if (state === 'running') return { label: t`Running`, tone: 'busy' };
  if (state === 'stopping') return { label: t`Ending`, tone: 'busy' };
  return (state === 'ended' && outcome && OUTCOMES[outcome]) || stateLabel({ state, outcome });
}

export const failed = (job: Pick<Job, 'state' | 'outcome'>): boolean =>
  job.state === 'ended' && jobStateLabel(job).tone === 'bad';

/** Why it stands as it does; null where there is nothing to say. */
export function jobReason(job: Pick<Job, 'state' | 'outcome' | 'reason' | 'node'>): string | null {
  if (job.reason) return translate(job.reason);
  if (job.state === 'queued') return t`It is waiting for Slurm to schedule it.`;
  if (!failed(job)) return null;
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

/** "waiting for 3 min", "running for 12 min, 48 min left", "ran 3 min". */
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

const COUNTED: [keys: string[], say: (count: number) => string][] = [
  [['completed'], (count) => t`${count} completed`],
  [['running'], (count) => t`${count} running`],
  [['queued', 'submitting'], (count) => t`${count} waiting`],
  [['failed'], (count) => t`${count} failed`],
  [['out_of_memory'], (count) => t`${count} out of memory`],
  [['timeout'], (count) => t`${count} timed out`],
  [['node_failed'], (count) => t`${count} lost their node`],
  [['cancelled'], (count) => t`${count} cancelled`],
];

/** "4 tasks: 2 completed, 1 running, 1 waiting". */
export function arrayText({ size, counts }: Pick<JobArray, 'size' | 'counts'>): string {
  const parts = COUNTED.flatMap(([keys, say]) => {
    const count = keys.reduce((sum, key) => sum + (counts[key] ?? 0), 0);
    return count > 0 ? [say(count)] : [];
  });
  const tasks = plural(size, { one: '# task', other: '# tasks' });
  return parts.length === 0 ? tasks : t`${tasks}: ${{ counts: joinWithCommas(parts) }}`;
}

/** The requested resources; of a job from outside the portal only the time limit is known. */
export function requestedTexts({
  resources,
  external,
}: Pick<Job, 'resources' | 'external'>): string[] {
  if (!external) return resourceTexts(resources);
  const { time_limit_minutes: minutes } = resources;
  return minutes === null ? [] : [minutesAsTime(minutes)];
}

/** "node01", "node01, node02", "node01 and 7 more". */
export function nodesText({ node, nodes }: Pick<Job, 'node' | 'nodes'>): string | null {
  const [first] = nodes;
  if (first === undefined || nodes.length === 1) return node ?? first ?? null;
  return nodes.length <= 3
    ? joinWithCommas(nodes)
    : t`${first} and ${{ more: nodes.length - 1 }} more`;
}

/** A parameter's value as one would say it. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–';
  if (typeof value === 'boolean') return value ? t`yes` : t`no`;
  if (Array.isArray(value)) return value.length === 0 ? '–' : joinWithCommas(value.map(valueText));
  return String(value);
}

/** A metric with as many digits as one can compare at a glance. */
export function metricText(value: number | null | undefined): string {
  if (value === null) return t`not a number`;
  return value === undefined ? '–' : String(Number(value.toPrecision(4)));
}

export interface TaskColumns {
  parameters: string[];
  metrics: string[];
}

/** The columns of a table of tasks, in the order in which they first appear. */
export function taskColumns(tasks: readonly Task[]): TaskColumns {
  const names = (pick: (task: Task) => object | null | undefined): string[] => [
    ...new Set(tasks.flatMap((task) => Object.keys(pick(task) ?? {}))),
  ];
  return { parameters: names((task) => task.parameters), metrics: names((task) => task.metrics) };
}
