/** States and outcomes in the words users use. Pure. */
import { t } from '@lingui/core/macro';
import type { Outcome, Session } from '@/api/types';
import { translate } from '@/i18n/translate';
import type { StateLabel } from '@/ui/StateChip';

const OUTCOMES: Record<Outcome, StateLabel> = {
  completed: { label: t`Finished`, tone: 'quiet' },
  cancelled: { label: t`Stopped`, tone: 'quiet' },
  failed: { label: t`Failed`, tone: 'bad' },
  timeout: { label: t`Timed out`, tone: 'bad' },
  out_of_memory: { label: t`Out of memory`, tone: 'bad' },
  node_failed: { label: t`Node failed`, tone: 'bad' },
};

export function stateLabel(session: Pick<Session, 'state' | 'outcome'>): StateLabel {
  switch (session.state) {
    case 'submitting':
      return { label: t`Submitting`, tone: 'busy' };
    case 'queued':
      return { label: t`Queued`, tone: 'waiting' };
    case 'starting':
      return { label: t`Starting`, tone: 'busy' };
    case 'running':
      return { label: t`Running`, tone: 'good' };
    case 'suspended':
      return { label: t`Suspended`, tone: 'waiting' };
    case 'stopping':
      return { label: t`Stopping`, tone: 'busy' };
    case 'ended':
      return session.outcome ? OUTCOMES[session.outcome] : { label: t`Ended`, tone: 'quiet' };
  }
}

/** JupyterLab's page, with the notebook to begin with if there is one; null while it doesn't run. */
export const labUrl = ({ url, opens }: Pick<Session, 'url' | 'opens'>): string | null =>
  url === null ? null : `${url}${opens ?? ''}`;

/** Ended in a way its owner didn't choose: the card says why and shows the log's end. */
export function wentWrong(session: Pick<Session, 'state' | 'outcome'>): boolean {
  return session.state === 'ended' && stateLabel(session).tone === 'bad';
}

/** Why it has ended, when the portal itself gives no reason. */
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
