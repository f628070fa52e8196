/** The sessions whose end is so close that every page warns about it. Pure. */
import type { Session } from '@/api/types';
import { timeLeft } from '@/lib/time';

type Ending = Pick<Session, 'id' | 'state' | 'expires_at'>;

export interface EndingSession<S extends Ending> {
  session: S;
  expiresAt: string;
  /** changes when the session is extended */
  key: string;
}

export function endingSoon<S extends Ending>(
  sessions: readonly S[],
  nowMs: number,
): EndingSession<S>[] {
  return sessions.flatMap((session) => {
    const { id, state, expires_at: expiresAt } = session;
    if ((state !== 'running' && state !== 'suspended') || expiresAt === null) return [];
    const left = timeLeft(expiresAt, nowMs);
    if (left === null || !left.warning || left.over) return [];
    return [{ session, expiresAt, key: `${id} ${expiresAt}` }];
  });
}
