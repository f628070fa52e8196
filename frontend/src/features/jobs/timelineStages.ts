/** A job's timeline as stages of a chart, and as a list of events. Pure. */
import { t } from '@lingui/core/macro';
import type { Job } from '@/api/types';

export type StageKind = 'waiting' | 'running' | 'left';

export interface Stage {
  kind: StageKind;
  ms: number;
  /** in percent of the chart */
  width: number;
}

export interface TimelineEvent {
  label: string;
  /** null: not reached, and no estimate exists */
  at: string | null;
  state: 'done' | 'now' | 'expected';
}

type Times = Pick<
  Job,
  'state' | 'submitted_at' | 'started_at' | 'ended_at' | 'expires_at' | 'estimated_start'
>;

/** The minimum width of a stage of a second or more, in percent, so that it stays visible. */
const LEAST_WIDTH = 4;
const SHOWN_MS = 1000;

const time = (at: string | null): number | null => (at === null ? null : Date.parse(at));

/** Return how long each stage took, or has taken so far; `left` is the rest of the time limit. */
export function stages(job: Times, nowMs: number): Stage[] {
  const submitted = Date.parse(job.submitted_at);
  const ended = time(job.ended_at);
  const started = time(job.started_at);
  const end = ended ?? Math.max(nowMs, submitted);
  const durations: { kind: StageKind; ms: number }[] = [
    // Slurm's times are whole seconds, so a start may seem to precede the submission.
    { kind: 'waiting', ms: Math.max(0, (started ?? end) - submitted) },
  ];
  if (started !== null) {
    durations.push({ kind: 'running', ms: Math.max(0, end - started) });
    const limit = time(job.expires_at);
    if (ended === null && limit !== null && limit > end)
      durations.push({ kind: 'left', ms: limit - end });
  }
  const visible = durations.filter(({ ms }) => ms >= SHOWN_MS);
  return widths(visible.length > 0 ? visible : durations.slice(-1));
}

function widths(durations: readonly { kind: StageKind; ms: number }[]): Stage[] {
  const total = durations.reduce((sum, { ms }) => sum + ms, 0);
  const wide = durations.map(({ ms }) =>
    Math.max(LEAST_WIDTH, total === 0 ? LEAST_WIDTH : (100 * ms) / total),
  );
  const sum = wide.reduce((all, width) => all + width, 0);
  return durations.map((stage, index) => ({ ...stage, width: (100 * (wide[index] ?? 0)) / sum }));
}

/** Return the past and expected events, in order. */
export function timelineEvents(job: Times): TimelineEvent[] {
  const { state, started_at: started, ended_at: ended } = job;
  const events: TimelineEvent[] = [
    { label: t({ message: 'Submitted', context: 'when' }), at: job.submitted_at, state: 'done' },
  ];
  if (started !== null)
    events.push({
      label: t({ message: 'Started', context: 'when' }),
      at: started,
      state: ended === null ? 'now' : 'done',
    });
  else if (ended === null)
    events.push({ label: t`Expected to start`, at: job.estimated_start, state: 'expected' });
  if (ended !== null)
    events.push({ label: t({ message: 'Ended', context: 'when' }), at: ended, state: 'done' });
  else if (started !== null)
    events.push({
      label: state === 'stopping' ? t`Ending now` : t`Ends no later than`,
      at: state === 'stopping' ? null : job.expires_at,
      state: 'expected',
    });
  return events;
}

export const STAGE_LABELS: Record<StageKind, string> = {
  waiting: t`Queued`,
  running: t`Running`,
  left: t`Time left`,
};
