import { describe, expect, it } from 'vitest';
import { logTailQuery, refetchMs } from './queries';

const ENDED = '2030-01-01T12:00:00Z';
const afterEnd = (seconds: number): number => Date.parse(ENDED) + seconds * 1000;
const nothing = { stream: 'stdout', text: ' \n' } as const;

describe('the end of an ended log', () => {
  it('is refetched while it is empty within a minute of the end', () => {
    expect(refetchMs(nothing, ENDED, afterEnd(1))).toBe(5000);
    expect(refetchMs(nothing, ENDED, afterEnd(59))).toBe(5000);
    expect(refetchMs(nothing, ENDED, afterEnd(60))).toBe(false);
  });

  it('is fetched once if it has text, or its end is unknown', () => {
    expect(refetchMs({ stream: 'stderr', text: 'Killed' }, ENDED, afterEnd(1))).toBe(false);
    expect(refetchMs(undefined, ENDED, afterEnd(1))).toBe(false);
    expect(refetchMs(nothing, null, afterEnd(1))).toBe(false);
  });

  it('has another cache key for each run', () => {
    const source = { kind: 'jobs', id: 'j1' } as const;
    const { queryKey } = logTailQuery(source, ENDED);
    expect(queryKey).toEqual(logTailQuery({ ...source }, ENDED).queryKey);
    expect(queryKey).not.toEqual(logTailQuery(source, '2030-01-01T12:09:00Z').queryKey);
  });
});
