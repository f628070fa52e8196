import { describe, expect, it } from 'vitest';
import { hasHistory, historyCharts, historyTimes, mean, meanText } from './history';
import { readClusterSearch, withChange } from './search';
import type { ClusterHistory } from './types';

const HISTORY: ClusterHistory = {
  range: '24h',
  start: '2026-11-01T00:00:00Z',
  step_s: 300,
  gpus: [8, null, 8],
  gpus_allocated: [2, null, 4],
  gpus_used: [null, null, null],
  cpus: [64, null, 64],
  cpus_allocated: [16, null, 16],
  cpus_used: [4, null, 8],
  pending_jobs: [1, null, 1200],
  median_wait_s: [null, null, 90],
};
const labels = (history: ClusterHistory): string[][] =>
  historyCharts(history).map(({ series }) => series.map(({ label }) => label));

describe('the history of the cluster', () => {
  it('has a time for each step', () => {
    const midnight = Date.parse('2026-11-01T00:00:00Z') / 1000;
    expect(historyTimes(HISTORY)).toEqual([midnight, midnight + 300, midnight + 600]);
  });

  it('shows usage only where it is known', () => {
    expect(labels(HISTORY)).toEqual([
      ['Allocated', 'Total'],
      ['Allocated', 'Load', 'Total'],
      ['Queued'],
      ['Median wait'],
    ]);
    const measured = { ...HISTORY, gpus_used: [1, null, null] };
    expect(labels(measured)[0]).toEqual(['Allocated', 'In use', 'Total']);
  });

  it('leaves out GPUs of a cluster without any', () => {
    const none = { ...HISTORY, gpus: [0, null, 0], gpus_allocated: [0, null, 0] };
    expect(historyCharts(none).map(({ key }) => key)).toEqual(['cpus', 'pending', 'wait']);
  });

  it('is summed up in sentences, gaps aside', () => {
    expect(historyCharts(HISTORY).map(({ text }) => text)).toEqual([
      '3 of 8 allocated on average (38 %)',
      '16 of 64 allocated on average (25 %)',
      '601 on average, 1,200 at most',
      'Half of the sessions and jobs that started waited at most this long.',
    ]);
    const [wait] = historyCharts({ ...HISTORY, median_wait_s: [null, null, null] }).slice(-1);
    expect(wait?.text).toBe('No sessions or jobs have started in this time.');
  });

  it('is empty on a new site', () => {
    expect(hasHistory(HISTORY)).toBe(true);
    expect(hasHistory({ cpus: [null, null] })).toBe(false);
    expect(mean([null, null])).toBeNull();
    expect(meanText(0.04, 'en')).toBe('0');
    expect(meanText(9.96, 'en')).toBe('10');
  });
});

describe('the range of the history', () => {
  it('is kept in the address, apart from the default and nonsense', () => {
    expect(readClusterSearch({ history: '30d' })).toEqual({ history: '30d' });
    expect(readClusterSearch({ history: '24h' })).toEqual({});
    expect(readClusterSearch({ history: '2d' })).toEqual({});
    expect(withChange({ history: '1y', q: 'a' }, { history: '24h' })).toEqual({ q: 'a' });
  });
});
