/** What is said of a session in which nothing has run for long. Pure. */
import type { Session } from '@/api/types';
import { duration } from '@/lib/time';
import { plural } from './words';

type Idle = Pick<Session, 'state' | 'idle_since' | 'resources'>;

/** "Idle for 1 h: it holds 1 GPU and 4 CPUs that others could use."; null if it isn't worth it. */
export function idleWords(session: Idle, nowMs: number): string | null {
  const { state, idle_since: since, resources } = session;
  if (state !== 'running' || since === null) return null;
  const gpus = resources.gpus > 0 ? `${plural(resources.gpus, 'GPU')} and ` : '';
  const held = `${gpus}${plural(resources.cpus, 'CPU')}`;
  return `Idle for ${duration(nowMs - Date.parse(since))}: it holds ${held} that others could use.`;
}
