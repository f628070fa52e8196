import { describe, expect, it } from 'vitest';
import {
  answerText,
  latency,
  overall,
  partName,
  partStateLabel,
  purpose,
  worstFirst,
} from './labels';

const NOW = Date.parse('2026-11-22T05:00:10Z');
const AT = '2026-11-22T05:00:07Z';

describe('a part of the system', () => {
  it('shows when it answered, and how fast', () => {
    expect(answerText({ state: 'ok', answered_at: AT, latency_ms: 4.2 }, NOW)).toBe(
      'answered 3 s ago in 4 ms',
    );
    expect(answerText({ state: 'ok', answered_at: AT, latency_ms: null }, NOW)).toBe(
      'answered 3 s ago',
    );
    expect(answerText({ state: 'failing', answered_at: AT, latency_ms: 4 }, NOW)).toBe(
      'last answered 3 s ago',
    );
    expect(answerText({ state: 'unknown', answered_at: null, latency_ms: null }, NOW)).toMatch(
      /no answer/,
    );
  });

  it('is not in the future when the clocks differ', () => {
    expect(answerText({ state: 'ok', answered_at: AT, latency_ms: 1 }, NOW - 60_000)).toBe(
      'answered 0 s ago in 1 ms',
    );
  });

  it('may be unknown to this page', () => {
    expect(purpose('hub')).toMatch(/notebooks/);
    expect(purpose('fax')).toBe('');
    expect(partName({ part: 'fax', name: '' })).toBe('fax');
    expect(partName({ part: 'directory', name: 'ldap2' })).toBe('Directory ldap2');
    expect(partStateLabel('something' as 'ok').label).toBe('Unknown');
  });
});

describe('all parts together', () => {
  it('list problems first', () => {
    expect(overall([{ part: 'hub', name: '', state: 'ok' }]).label).toBe('Everything works');
    expect(
      overall([
        { part: 'hub', name: '', state: 'failing' },
        { part: 'slurm', name: '', state: 'unknown' },
      ]),
    ).toEqual({ label: 'Failing: JupyterHub', tone: 'bad' });
    expect(overall([{ part: 'slurm', name: '', state: 'unknown' }]).label).toBe(
      'No failures; unknown: Slurm',
    );
  });

  it('are sorted worst first, otherwise unchanged', () => {
    const parts = [
      { part: 'a', state: 'ok' },
      { part: 'b', state: 'unknown' },
      { part: 'c', state: 'failing' },
      { part: 'd', state: 'ok' },
    ] as const;
    expect(worstFirst(parts).map(({ part }) => part)).toEqual(['c', 'b', 'a', 'd']);
  });
});

describe('a latency', () => {
  it.each([
    [0.04, '0.1 ms'],
    [0.42, '0.4 ms'],
    [4.4, '4 ms'],
    [1234, '1.2 s'],
  ])('%f ms: %s', (ms, text) => expect(latency(ms)).toBe(text));
});
