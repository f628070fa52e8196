/** A job's way through the queue as stages of a picture, and as sentences. Pure. */
import { t } from '@lingui/core/macro';
import type { Job } from '@/api/types';

export type StageKind = 'waiting' | 'running' | 'left';

export interface Stage {
  kind: StageKind;
  ms: number;
  /** of the picture, out of 100 */
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

/** A stage of a second or more can be seen, however short it was beside the others. */
const LEAST_WIDTH = 4;
const SHOWN_MS = 1000;

const time = (at: string | null): number | null => (at === null ? null : Date.parse(at));

/** How long each stage took, or has taken so far; `left` is what its time limit still allows. */
export function stages(job: Times, nowMs: number): Stage[] {
  const submitted = Date.parse(job.submitted_at);
  // Slurm's times are whole seconds, so that a start may seem to come before its submission.
  const ended = time(job.ended_at);
  const started = time(job.started_at);
  const end = ended ?? Math.max(nowMs, submitted);
  const found: { kind: StageKind; ms: number }[] = [
    { kind: 'waiting', ms: Math.max(0, (started ?? end) - submitted) },
  ];
  if (started !== null) {
    found.push({ kind: 'running', ms: Math.max(0, end - started) });
    const limit = time(job.expires_at);
    if (ended === null && limit !== null && limit > end)
      found.push({ kind: 'left', ms: limit - end });
  }
  const shown = found.filter(({ ms }) => ms >= SHOWN_MS);
  return widths(shown.length > 0 ? shown : found.slice(-1));
}

function widths(found: readonly { kind: StageKind; ms: number }[]): Stage[] {
  const whole = found.reduce((sum, { ms }) => sum + ms, 0);
  const wide = found.map(({ ms }) =>
    Math.max(LEAST_WIDTH, whole === 0 ? LEAST_WIDTH : (100 * ms) / whole),
  );
  const sum = wide.reduce((all, one) => all + one, 0);
  return found.map((stage, at) => ({ ...stage, width: (100 * (wide[at] ?? 0)) / sum }));
}

/** What has happened to it and what will, in order. */
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
      label: state === 'stopping' ? t`Ending now` : t`Ends at the latest`,
      at: state === 'stopping' ? null : job.expires_at,
      state: 'expected',
    });
  return events;
}

export const STAGE_LABELS: Record<StageKind, string> = {
  waiting: t`Waiting`,
  running: t`Running`,
  left: t`Time left`,
};
