/** Sentences for a screen reader when something changed by itself. Pure. */
import type { Job, Session } from '@/api/types';

function sessionSentence(session: Session): string {
  const { name } = session;
  switch (session.state) {
    case 'submitting':
      return `Session ${name} is being submitted.`;
    case 'queued':
      return `Session ${name} is waiting in the queue.`;
    case 'starting':
      return `Session ${name} is starting${session.node ? ` on ${session.node}` : ''}.`;
    case 'running':
      return `Session ${name} is ready.`;
    case 'suspended':
      return `Session ${name} is suspended.`;
    case 'stopping':
      return `Session ${name} is stopping.`;
    case 'ended':
      return `Session ${name} has ended. ${session.reason ?? ''}`.trim();
  }
}

function jobSentence(job: Job): string {
  const { name } = job;
  switch (job.state) {
    case 'submitting':
      return `Job ${name} is being submitted.`;
    case 'queued':
      return `Job ${name} is waiting in the queue.`;
    case 'starting':
      return `Job ${name} is starting.`;
    case 'running':
      return `Job ${name} is running${job.node ? ` on ${job.node}` : ''}.`;
    case 'suspended':
      return `Job ${name} is suspended.`;
    case 'stopping':
      return `Job ${name} is ending.`;
    case 'ended':
      return `Job ${name} has ended. ${job.reason ?? ''}`.trim();
  }
}

type Followed = Pick<Session, 'id' | 'state'>;

/** Those whose state differs; none for the first picture. */
function changed<T extends Followed>(before: readonly T[] | null, after: readonly T[] | null): T[] {
  if (before === null || after === null || before === after) return [];
  const known = new Map(before.map((s) => [s.id, s.state]));
  return after.filter((s) => known.get(s.id) !== s.state);
}

/** One sentence for each session whose state differs. */
export const announcements = (
  before: readonly Session[] | null,
  after: readonly Session[] | null,
): string[] => changed(before, after).map(sessionSentence);

/** The same of jobs. One that has ended and is new here is an old one that came back into view. */
export function jobAnnouncements(
  before: readonly Job[] | null,
  after: readonly Job[] | null,
): string[] {
  const known = new Set(before?.map((job) => job.id));
  return changed(before, after)
    .filter((job) => job.state !== 'ended' || known.has(job.id))
    .map(jobSentence);
}
