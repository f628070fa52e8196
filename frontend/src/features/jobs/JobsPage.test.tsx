import { describe, expect, it } from 'vitest';
import { jobs } from '@/testing/answers/jobs';
import { isLoading, names, textOf, withRole } from '@/testing/markup';
import { ErrorAnswer, page } from '@/testing/page';
import { answers, FULL, runningJob } from '@/testing/recorded';

const NONE = {
  ...answers,
  '/jobs': { items: [], next_cursor: null },
  '/jobs/count': { count: 0, by_state: {} },
};

/** Return the row of the job with this name. */
function row(markup: string, name: string): string {
  const found = rows(markup).find((each) => names(each, 'a')[0] === name);
  expect(found, name).toBeDefined();
  return found ?? '';
}

const rows = (markup: string): string[] =>
  [...markup.matchAll(/<tr\b[^>]*data-key.*?<\/tr>/gs)].map(([each]) => each);

const headers = (markup: string): string[] =>
  [...markup.matchAll(/<th scope="col".*?<\/th>/gs)].map(([each]) => textOf(each));

const withTable = (jobs_table: object) => ({
  ...FULL,
  answers: { ...answers, '/me/preferences': { jobs_table } },
});

describe('the table of jobs', () => {
  it('has a row for each', async () => {
    const markup = await page('/jobs', FULL);
    const links = rows(markup).map((each) => names(each, 'a')[0]);
    expect(links.sort()).toEqual(jobs.items.map(({ name }) => name).sort());
    expect(markup).toContain('aria-label="Select baseline"');
  });

  it('shows the state, and why one failed', async () => {
    const markup = await page('/jobs', FULL);
    expect(textOf(row(markup, runningJob.name))).toContain('Running your own script');
    expect(textOf(row(markup, 'broken import'))).toContain('It ended with exit code 3.');
    expect(names(row(markup, 'broken import'), 'button')).toContain('Show the error');
  });

  it('counts the tasks of an array', async () => {
    const array = row(await page('/jobs', FULL), 'hyperparameter-array');
    expect(names(array, 'button')).toContain('4 tasks');
    expect(array).toContain('title="4 tasks: 4 completed"');
    expect(textOf(array)).toContain('Many trainings side by side');
  });

  it('counts the jobs in each state', async () => {
    const markup = await page('/jobs', FULL);
    const tabs = names(markup, 'a').filter((name) => /\d$/.test(name));
    expect(tabs).toEqual(
      expect.arrayContaining(['All 16', 'Running 1', 'Failed 4', 'Completed 9', 'Cancelled 2']),
    );
    expect(tabs.join()).not.toContain('Timed out');
  });

  it('sorts by its column headers', async () => {
    const markup = await page('/jobs?order=name', FULL);
    expect(markup).toMatch(/aria-sort="ascending"[^>]*><a[^>]*href="\/jobs\?order=name_down"/);
    expect(headers(markup).slice(0, 2)).toEqual(['Name ↑', 'State']);
  });

  it('has the chosen columns, with parameters', async () => {
    const scene = withTable({ columns: ['memory', 'param:epochs'], views: [] });
    const markup = await page('/jobs', scene);
    expect(headers(markup)).toEqual(['Name', 'Memory used', 'epochs']);
    expect(textOf(row(markup, 'hyperparameter-array'))).toContain('18 % 2');
  });

  it('has a column of the mean use of the GPUs of ended jobs', async () => {
    const [first, ...rest] = jobs.items.map((job) => ({
      ...job,
      resources: { ...job.resources, gpus: 1 },
      state: 'ended',
    }));
    const items = [
      { ...first, gpu_percent: 42.4 },
      { ...rest[0], gpu_percent: null },
    ];
    const scene = withTable({ columns: ['gpu'], views: [] });
    const listed = { answers: { ...scene.answers, '/jobs': { ...jobs, items } } };
    const markup = await page('/jobs', listed);
    expect(headers(markup)).toEqual(['Name', 'GPU utilization']);
    expect(markup).toContain('Running jobs: the present use, of the newest 8.');
    expect(rows(markup).map((each) => /(\d+ %|–)$/.exec(textOf(each).trim())?.[0])).toEqual([
      '42 %',
      '–',
    ]);
  });

  it('has columns of the last metrics', async () => {
    const items = jobs.items.map((job) => ({ ...job, metrics: { loss: 0.123456, bad: null } }));
    const scene = withTable({ columns: ['metric:loss', 'metric:bad'], views: [] });
    const listed = { answers: { ...scene.answers, '/jobs': { ...jobs, items } } };
    const markup = await page('/jobs', listed);
    expect(headers(markup)).toEqual(['Name', 'loss', 'bad']);
    expect(textOf(row(markup, 'hyperparameter-array'))).toContain('0.1235 not a number');
  });

  it('sorts by a metric, and says which jobs are left out', async () => {
    const items = jobs.items.map((job) => ({ ...job, metrics: { loss: 1 } }));
    const scene = withTable({ columns: ['metric:loss'], views: [] });
    const listed = { answers: { ...scene.answers, '/jobs': { ...jobs, items } } };
    const markup = await page('/jobs?order=value_up&by=metric:loss', listed);
    expect(markup).toMatch(
      /aria-sort="ascending"[^>]*><a[^>]*href="\/jobs\?order=value&amp;by=metric%3Aloss"/,
    );
    expect(textOf(markup)).toContain(
      'Sorted by loss: jobs that have no such value are not listed.',
    );
  });

  it('has groups that fold, with their numbers', async () => {
    const markup = await page('/jobs?group=template', FULL);
    const groups = names(markup, 'button').filter((name) => / jobs?$/.test(name));
    expect(groups).toContain('Many trainings side by side 1 job');
    expect(groups).toContain('No template 2 jobs');
  });

  it('names the saved view that it shows', async () => {
    const view = { name: 'Broken', search: { state: 'failed' }, columns: null };
    const scene = withTable({ columns: null, views: [view] });
    expect(names(await page('/jobs?state=failed', scene), 'button')).toContain('View: Broken');
    expect(names(await page('/jobs', scene), 'button')).toContain('Views');
  });

  it('keeps a long name in one line and shows what would turn its text around', async () => {
    const name = `\u202egnp.exe\u0000 ${'長'.repeat(290)}`;
    const [first, ...rest] = jobs.items;
    const scene = { answers: { ...answers, '/jobs': { items: [{ ...first, name }, ...rest] } } };
    const markup = await page('/jobs', scene);
    expect(markup).not.toContain('\u202e');
    const link = /<a title="\\u202egnp.exe\\u0000 長+"[^>]*data-main/;
    expect(markup).toMatch(link);
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
    expect(isLoading(await page('/jobs', { snapshot: null, early: true }))).toBe(true);
    const live = await page('/jobs', { ...FULL, early: true });
    expect(rows(live)).toEqual([]);
    expect(isLoading(live), 'with live jobs, before the list').toBe(true);
    const markup = await page('/jobs', { answers: { '/jobs': new ErrorAnswer(403, 'Not now.') } });
    expect(withRole(markup, 'alert').join()).toContain('Not now.');
    expect(names(markup, 'button')).toContain('Try again');
    expect(textOf(markup)).not.toContain('Submit your first job');
  });
});
