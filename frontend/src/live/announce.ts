/** Sentences for screen readers about changes. Pure. */
import { t } from '@lingui/core/macro';
import type { Job, Session } from '@/api/types';
import { translate } from '@/i18n/translate';

function sessionSentence(session: Session): string {
  const { name, node } = session;
  const reason = translate(session.reason);
  switch (session.state) {
    case 'submitting':
      return t`Session ${name} is being submitted.`;
    case 'queued':
      return t`Session ${name} is waiting in the queue.`;
    case 'starting':
      return node ? t`Session ${name} is starting on ${node}.` : t`Session ${name} is starting.`;
    case 'running':
      return t`Session ${name} is ready.`;
    case 'suspended':
      return t`Session ${name} is suspended.`;
    case 'stopping':
      return t`Session ${name} is stopping.`;
    case 'ended':
      return reason ? t`Session ${name} has ended. ${reason}` : t`Session ${name} has ended.`;
  }
}

function jobSentence(job: Job): string {
  const { name, node } = job;
  const reason = translate(job.reason);
  switch (job.state) {
    case 'submitting':
      return t`Job ${name} is being submitted.`;
    case 'queued':
      return t`Job ${name} is waiting in the queue.`;
    case 'starting':
      return t`Job ${name} is starting.`;
    case 'running':
      return node ? t`Job ${name} is running on ${node}.` : t`Job ${name} is running.`;
    case 'suspended':
      return t`Job ${name} is suspended.`;
    case 'stopping':
      return t`Job ${name} is ending.`;
    case 'ended':
      return reason ? t`Job ${name} has ended. ${reason}` : t`Job ${name} has ended.`;
  }
}

type WithState = Pick<Session, 'id' | 'state'>;

/** Return the items whose state has changed; none when the first snapshot arrives. */
function changedItems<T extends WithState>(
  before: readonly T[] | null,
  after: readonly T[] | null,
): T[] {
  if (before === null || after === null || before === after) return [];
  const previousStates = new Map(before.map((s) => [s.id, s.state]));
  return after.filter((s) => previousStates.get(s.id) !== s.state);
}

/** Return one sentence for each session whose state has changed. */
export const spokenSessionChanges = (
  before: readonly Session[] | null,
  after: readonly Session[] | null,
): string[] => changedItems(before, after).map(sessionSentence);

/** Return one sentence for each job whose state has changed. A new item that has ended is an old
 * job that has returned to the list. */
export function spokenJobChanges(
  before: readonly Job[] | null,
  after: readonly Job[] | null,
): string[] {
  const previousIds = new Set(before?.map((job) => job.id));
  return changedItems(before, after)
    .filter((job) => job.state !== 'ended' || previousIds.has(job.id))
    .map(jobSentence);
}
