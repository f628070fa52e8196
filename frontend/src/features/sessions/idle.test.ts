import { describe, expect, it } from 'vitest';
import type { Session } from '@/api/types';
import { idleText } from './idle';

const SINCE = Date.UTC(2026, 10, 22, 10);
const HOUR = 3_600_000;

function session(gpus: number, over: Partial<Session> = {}): Parameters<typeof idleText>[0] {
  const resources = { gpus, cpus: gpus * 3 + 1 } as Session['resources'];
  return { state: 'running', idle_since: new Date(SINCE).toISOString(), resources, ...over };
}

describe('an idle session', () => {
  it('is shown with the resources it holds', () => {
    expect(idleText(session(1), SINCE + HOUR)).toBe(
      'Idle for 1 h: it holds 1 GPU and 4 CPUs that others could use.',
    );
    expect(idleText(session(0), SINCE + 1.5 * HOUR)).toBe(
      'Idle for 1 h 30 min: it holds 1 CPU that others could use.',
    );
  });

  it('is not shown while it is busy, or nothing is known, or once it ends', () => {
    expect(idleText(session(1, { idle_since: null }), SINCE + HOUR)).toBeNull();
    expect(idleText(session(1, { state: 'stopping' }), SINCE + HOUR)).toBeNull();
  });
});
