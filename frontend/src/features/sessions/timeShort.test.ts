import { describe, expect, it } from 'vitest';
import type { Session } from '@/api/types';
import { endingSoon } from './timeShort';

const NOW = Date.parse('2026-11-22T09:00:00Z');

function session(minutesLeft: number | null, state: Session['state'] = 'running') {
  const end = minutesLeft === null ? null : new Date(NOW + minutesLeft * 60_000).toISOString();
  return { id: `in-${minutesLeft}`, state, expires_at: end };
}

const short = (...sessions: ReturnType<typeof session>[]): string[] =>
  endingSoon(sessions, NOW).map(({ session: { id } }) => id);

describe('sessions that end soon', () => {
  it('are running, with less than 15 minutes left', () => {
    expect(short(session(14), session(16), session(null), session(1))).toEqual(['in-14', 'in-1']);
  });

  it('are neither ended nor starting', () => {
    expect(short(session(0), session(-5), session(5, 'stopping'), session(5, 'ended'))).toEqual([]);
    expect(short(session(5, 'suspended'))).toEqual(['in-5']);
  });

  it('are announced again after an extension', () => {
    const keys = [session(5), { ...session(7), id: 'in-5' }].map(
      (session) => endingSoon([session], NOW)[0]?.key,
    );
    expect(new Set(keys).size).toBe(2);
  });
});
