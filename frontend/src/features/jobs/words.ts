/** Jobs in the words people use. Pure. */
import type { Job, JobArray, Outcome, Task } from '@/api/types';
import { plural, resourceTexts, type StateWords, stateWords } from '@/features/sessions/words';
import { duration, minutesAsTime } from '@/lib/time';

const OUTCOMES: Partial<Record<Outcome, StateWords>> = {
  completed: { label: 'Completed', tone: 'good' },
  cancelled: { label: 'Cancelled', tone: 'quiet' },
};

/** A job works while it runs; that it is done is the good news. */
export function jobStateWords({ state, outcome }: Pick<Job, 'state' | 'outcome'>): StateWords {
  if (state === 'running') return { label: 'Running', tone: 'busy' };
  if (state === 'stopping') return { label: 'Ending', tone: 'busy' };
  return (state === 'ended' && outcome && OUTCOMES[outcome]) || stateWords({ state, outcome });
}

export const failed = (job: Pick<Job, 'state' | 'outcome'>): boolean =>
  job.state === 'ended' && jobStateWords(job).tone === 'bad';

/** Why it stands as it does; null where there is nothing to say. */
export function jobReason(job: Pick<Job, 'state' | 'outcome' | 'reason' | 'node'>): string | null {
  if (job.reason) return job.reason;
  if (job.state === 'queued') return 'It waits for Slurm to find a place for it.';
  if (!failed(job)) return null;
  switch (job.outcome) {
    case 'timeout':
      return 'Its time limit was reached, so Slurm ended it.';
    case 'out_of_memory':
      return 'It used more memory than it had asked for, so Slurm ended it.';
    case 'node_failed':
      return `The node ${job.node ?? 'it ran on'} failed.`;
    default:
      return 'It ended with an error; its log may say which.';
  }
}

type Times = Pick<Job, 'state' | 'submitted_at' | 'started_at' | 'ended_at' | 'expires_at'>;

/** "waiting for 3 min", "running for 12 min, 48 min left", "ran 3 min". */
export function jobTime(job: Times, nowMs: number): string {
  const { started_at: started, ended_at: ended, expires_at: expires } = job;
  if (ended !== null)
    return started === null
      ? 'never ran'
      : `ran ${duration(Date.parse(ended) - Date.parse(started))}`;
  if (started === null || job.state === 'queued' || job.state === 'submitting')
    return `waiting for ${duration(nowMs - Date.parse(job.submitted_at))}`;
  const running = `running for ${duration(nowMs - Date.parse(started))}`;
  if (expires === null) return running;
  const left = Date.parse(expires) - nowMs;
  return left > 0 ? `${running}, ${duration(left)} left` : `${running}, its time is up`;
}

const COUNTED: [key: string, word: string][] = [
  ['completed', 'completed'],
  ['running', 'running'],
  ['queued', 'waiting'],
  ['submitting', 'waiting'],
  ['failed', 'failed'],
  ['out_of_memory', 'out of memory'],
  ['timeout', 'out of time'],
  ['node_failed', 'lost their node'],
  ['cancelled', 'cancelled'],
];

/** "4 tasks: 2 completed, 1 running, 1 waiting". */
export function arrayText({ size, counts }: Pick<JobArray, 'size' | 'counts'>): string {
  const sums = new Map<string, number>();
  for (const [key, word] of COUNTED) {
    const count = counts[key] ?? 0;
    if (count > 0) sums.set(word, (sums.get(word) ?? 0) + count);
  }
  const parts = [...sums].map(([word, count]) => `${count} ${word}`);
  return parts.length === 0 ? plural(size, 'task') : `${plural(size, 'task')}: ${parts.join(', ')}`;
}

/** What was asked for; of a job from outside the portal only the time is known. */
export function askedTexts({ resources, external }: Pick<Job, 'resources' | 'external'>): string[] {
  if (!external) return resourceTexts(resources);
  const { time_limit_minutes: minutes } = resources;
  return minutes === null ? [] : [minutesAsTime(minutes)];
}

/** "node01", "node01, node02", "node01 and 7 more". */
export function nodesText({ node, nodes }: Pick<Job, 'node' | 'nodes'>): string | null {
  const [first] = nodes;
  if (first === undefined || nodes.length === 1) return node ?? first ?? null;
  return nodes.length <= 3 ? nodes.join(', ') : `${first} and ${nodes.length - 1} more`;
}

/** A parameter's value as one would say it. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.length === 0 ? '–' : value.map(valueText).join(', ');
  return String(value);
}

/** A metric with as many digits as one can compare at a glance. */
export function metricText(value: number | null | undefined): string {
  if (value === null) return 'no number';
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
  return { parameters: names((t) => t.parameters), metrics: names((t) => t.metrics) };
}

const ERROR =
  /(\b[A-Za-z_.]*(Error|Exception|Interrupt)\b\s*(:|$)|^\s*(error|fatal)\b|\berror:|out of memory|oom[- ]kill|command not found|no such file|permission denied|segmentation fault|killed)/i;

/** The line that most probably says what went wrong: the last that looks like an error, else the last. */
export function errorLine(log: string): string | null {
  const lines = log.split('\n').map((line) => line.trim());
  const said = lines.filter((line) => line !== '');
  return said.findLast((line) => ERROR.test(line)) ?? said.at(-1) ?? null;
}
