import { describe, expect, it } from 'vitest';
import { jobs } from '@/testing/answers/jobs';
import { all, isLoading, names, textOf, withRole } from '@/testing/markup';
import { page, Refused } from '@/testing/page';
import { answers, FULL, runningJob } from '@/testing/recorded';

const NONE = { ...answers, '/jobs': { items: [], next_cursor: null }, '/jobs/count': { count: 0 } };

/** The card of the job with this name. */
function card(markup: string, name: string): string {
  const found = all(markup, 'article').find((one) => names(one.markup, 'h2').includes(name));
  expect(found, name).toBeDefined();
  return found?.markup ?? '';
}

describe('the list of jobs', () => {
  it('has a card for each', async () => {
    const markup = await page('/jobs', FULL);
    const cards = all(markup, 'article').flatMap((one) => names(one.markup, 'h2'));
    expect(cards.sort()).toEqual(jobs.items.map(({ name }) => name).sort());
    expect(markup).toContain('aria-label="Select baseline"');
  });

  it('offers for one that runs its end, for one that failed the reason', async () => {
    const markup = await page('/jobs', FULL);
    const running = card(markup, runningJob.name);
    expect(textOf(running)).toMatch(/your own script Running/);
    expect(names(running, 'button')).toEqual(['Cancel']);
    const failed = card(markup, 'broken import');
    expect(textOf(failed)).toContain('It ended with exit code 3.');
    expect(names(failed, 'button')).toEqual(['Show the error', 'Remove']);
    expect(names(failed, 'a')).toEqual(expect.arrayContaining(['Log', 'Run again']));
  });

  it('counts the states of an array’s tasks', async () => {
    const array = card(await page('/jobs', FULL), 'hyperparameter-array');
    expect(textOf(array)).toContain('4 tasks: 4 completed');
    expect(textOf(array)).toContain('Many trainings side by side');
  });

  it('suggests a first step when there are no jobs', async () => {
    const markup = await page('/jobs', { answers: NONE });
    expect(names(markup, 'h2')).toEqual(['Submit your first job']);
    expect(names(markup, 'a')).toContain('Choose a template');
  });

  it('distinguishes no matches from no jobs', async () => {
    const markup = await page('/jobs?q=nothing', { answers: NONE });
    expect(textOf(markup)).toContain('No matching jobs.');
    expect(names(markup, 'a')).toContain('Show all jobs');
  });

  it('shows loading and an error', async () => {
    expect(isLoading(await page('/jobs', { live: null, early: true }))).toBe(true);
    const markup = await page('/jobs', { answers: { '/jobs': new Refused(403, 'Not now.') } });
    expect(withRole(markup, 'alert').join()).toContain('Not now.');
    expect(textOf(markup)).not.toContain('Submit your first job');
  });
});
