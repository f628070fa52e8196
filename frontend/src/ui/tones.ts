/** The color of each state: the same for jobs, tasks of job arrays, sessions, TensorBoards and apps.
 * Pure. */
import type { Outcome, Session, Tensorboard } from '@/api/types';

export type Tone = 'busy' | 'good' | 'waiting' | 'quiet' | 'bad';

export const STATE_TONES: Readonly<Record<Session['state'] | Tensorboard['state'], Tone>> = {
  submitting: 'waiting',
  queued: 'waiting',
  starting: 'waiting',
  running: 'busy',
  suspended: 'waiting',
  stopping: 'busy',
  stopped: 'quiet',
  ended: 'quiet',
  failed: 'bad',
};

export const OUTCOME_TONES: Readonly<Record<Outcome, Tone>> = {
  completed: 'good',
  cancelled: 'quiet',
  failed: 'bad',
  timeout: 'bad',
  out_of_memory: 'bad',
  node_failed: 'bad',
};
