import { describe, expect, it } from 'vitest';
import type { Job } from '@/api/types';
import { jobsForHome, moreText } from './homeJobs';

const NOW = Date.parse('2026-03-01T12:00:00Z');

const job = (name: string, state: Job['state'], submitted: string, ended: string | null = null) =>
  ({ name, state, submitted_at: submitted, ended_at: ended }) as Job;

describe('jobsForHome', () => {
  it('has running, then pending jobs, then those ended within a day', () => {
    const result = jobsForHome(
      [
        job('yesterday', 'ended', '2026-02-27T00:00:00Z', '2026-02-28T13:00:00Z'),
        job('long ago', 'ended', '2026-02-20T00:00:00Z', '2026-02-28T11:00:00Z'),
        job('waits', 'queued', '2026-03-01T11:59:00Z'),
        job('old run', 'running', '2026-02-01T00:00:00Z'),
        job('new run', 'running', '2026-03-01T00:00:00Z'),
        job('today', 'ended', '2026-02-01T00:00:00Z', '2026-03-01T11:00:00Z'),
      ],
      NOW,
    );
    expect(result.map((job) => job.name)).toEqual([
      'new run',
      'old run',
      'waits',
      'today',
      'yesterday',
    ]);
  });
});

describe('moreText', () => {
  it('counts the jobs that are not shown, if their number is known', () => {
    expect([5, 250, undefined, 4, 3].map((count) => moreText(4, count))).toEqual([
      '1 more queued or running',
      '246 more queued or running',
      'More jobs are queued or running',
      null,
      null,
    ]);
  });
});
