/** The steps from the click until JupyterLab responds, with their durations. Pure. */
import { t } from '@lingui/core/macro';
import type { Session, Step } from '@/api/types';

export interface TimelineStep {
  step: Step;
  label: string;
  state: 'done' | 'now' | 'later';
  /** ms this step took, or has taken so far; null if it has not begun */
  tookMs: number | null;
}

/** Each step ends with the portal's timeline event of the same name. */
const STEPS: readonly { step: Step; label: string }[] = [
  { step: 'submitted', label: t`Submit the job to Slurm` },
  { step: 'allocated', label: t`Slurm allocates resources` },
  { step: 'called_home', label: t`The session starts on its node` },
  { step: 'server', label: t`JupyterLab loads` },
  { step: 'ready', label: t`JupyterLab responds` },
];

export function timelineSteps(
  session: Pick<Session, 'timeline' | 'submitted_at'>,
  nowMs: number,
): TimelineStep[] {
  const times = new Map(session.timeline.map(({ step, at }) => [step, Date.parse(at)]));
  let previous = Date.parse(session.submitted_at);
  let current = true;
  return STEPS.map(({ step, label }, index) => {
    const at = completionOf(times, index);
    if (at !== undefined) {
      const tookMs = Math.max(0, at - previous);
      previous = at;
      return { step, label, state: 'done', tookMs };
    }
    const state = current ? 'now' : 'later';
    const tookMs = current ? Math.max(0, nowMs - previous) : null;
    current = false;
    return { step, label, state, tookMs };
  });
}

/** Return when a step was done; a completed later step proves an unrecorded earlier one. */
function completionOf(times: ReadonlyMap<Step, number>, index: number): number | undefined {
  for (const { step } of STEPS.slice(index)) {
    const at = times.get(step);
    if (at !== undefined) return at;
  }
  return undefined;
}

/** Return the time from the click to ready, and the part of it that was pending in Slurm; null
 * until ready. */
export function startTimes(
  session: Pick<Session, 'timeline' | 'submitted_at' | 'ready_at'>,
): { totalMs: number; queueMs: number | null } | null {
  if (session.ready_at === null) return null;
  const submitted = Date.parse(session.submitted_at);
  const allocated = session.timeline.find((t) => t.step === 'allocated');
  return {
    totalMs: Math.max(0, Date.parse(session.ready_at) - submitted),
    queueMs: allocated ? Math.max(0, Date.parse(allocated.at) - submitted) : null,
  };
}
