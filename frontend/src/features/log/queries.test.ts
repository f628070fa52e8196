import { describe, expect, it } from 'vitest';
import { againMs, logTailQuery } from './queries';

const ENDED = '2030-01-01T12:00:00Z';
const afterEnd = (seconds: number): number => Date.parse(ENDED) + seconds * 1000;
const nothing = { stream: 'stdout', text: ' \n' } as const;

describe('the end of an ended log', () => {
  it('is read again while it is empty within a minute of the end', () => {
    expect(againMs(nothing, ENDED, afterEnd(1))).toBe(5000);
    expect(againMs(nothing, ENDED, afterEnd(59))).toBe(5000);
    expect(againMs(nothing, ENDED, afterEnd(60))).toBe(false);
  });

  it('is read once when it is not empty, or its end is unknown', () => {
    expect(againMs({ stream: 'stderr', text: 'Killed' }, ENDED, afterEnd(1))).toBe(false);
    expect(againMs(undefined, ENDED, afterEnd(1))).toBe(false);
    expect(againMs(nothing, null, afterEnd(1))).toBe(false);
  });

  it('belongs to one run', () => {
    const source = { kind: 'jobs', id: 'j1' } as const;
    const { queryKey } = logTailQuery(source, ENDED);
    expect(queryKey).toEqual(logTailQuery({ ...source }, ENDED).queryKey);
    expect(queryKey).not.toEqual(logTailQuery(source, '2030-01-01T12:09:00Z').queryKey);
  });
});
