/** Labels of states and outcomes. Pure. */
import { t } from '@lingui/core/macro';
import type { Outcome, Session } from '@/api/types';
import { translate } from '@/i18n/translate';
import type { StateLabel } from '@/ui/StateChip';
import { OUTCOME_TONES, STATE_TONES } from '@/ui/tones';

const OUTCOMES: Record<Outcome, string> = {
  completed: t`Completed`,
  cancelled: t`Stopped`,
  failed: t`Failed`,
  timeout: t`Timed out`,
  out_of_memory: t`Out of memory`,
  node_failed: t`Node failed`,
};

const STATES: Record<Session['state'], string> = {
  submitting: t`Submitting`,
  queued: t`Queued`,
  starting: t`Starting`,
  running: t`Running`,
  suspended: t`Suspended`,
  stopping: t`Stopping`,
  ended: t`Ended`,
};

export function stateLabel({ state, outcome }: Pick<Session, 'state' | 'outcome'>): StateLabel {
  return state === 'ended' && outcome
    ? { label: OUTCOMES[outcome], tone: OUTCOME_TONES[outcome] }
    : { label: STATES[state], tone: STATE_TONES[state] };
}

/** Return whether work in the session would be lost if it were stopped. */
export const isRunningOrSuspended = ({ state }: Pick<Session, 'state'>): boolean =>
  state === 'running' || state === 'suspended';

/** Return JupyterLab's address, with the session's starter notebook if it has one; null while the session
 * does not run. */
export const labUrl = ({ url, opens }: Pick<Session, 'url' | 'opens'>): string | null =>
  url === null ? null : `${url}${opens ?? ''}`;

/** Return whether the session ended unintentionally: then its card also shows the end of its log. */
export function endedUnexpectedly(session: Pick<Session, 'state' | 'outcome'>): boolean {
  return session.state === 'ended' && stateLabel(session).tone === 'bad';
}

/** Return the reason for the end: the portal's, else one that follows from the outcome. */
export function endReason(session: Pick<Session, 'outcome' | 'reason' | 'node'>): string {
  if (session.reason) return translate(session.reason);
  switch (session.outcome) {
    case 'completed':
      return t`It ended on its own.`;
    case 'cancelled':
      return t`It was stopped.`;
    case 'timeout':
      return t`Its time limit was reached, so Slurm ended it.`;
    case 'out_of_memory':
      return t`It used more memory than requested, so Slurm ended it.`;
    case 'node_failed':
      return session.node === null
        ? t`The node it ran on failed.`
        : t`The node ${{ node: session.node }} failed.`;
    default:
      return t`It ended with an error; the log below may show the cause.`;
  }
}
