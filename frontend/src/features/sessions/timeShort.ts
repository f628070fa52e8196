/** Which sessions end so soon that their owner should hear of it anywhere in the portal. Pure. */
import type { Session } from '@/api/types';
import { timeLeft } from '@/lib/time';

type Ending = Pick<Session, 'id' | 'state' | 'expires_at'>;

export interface Short<S extends Ending> {
  session: S;
  expiresAt: string;
  /** differs once it was given more time */
  key: string;
}

export function shortOfTime<S extends Ending>(sessions: readonly S[], nowMs: number): Short<S>[] {
  return sessions.flatMap((session) => {
    const { id, state, expires_at: expiresAt } = session;
    if ((state !== 'running' && state !== 'suspended') || expiresAt === null) return [];
    const left = timeLeft(expiresAt, nowMs);
    if (left === null || !left.warning || left.over) return [];
    return [{ session, expiresAt, key: `${id} ${expiresAt}` }];
  });
}
