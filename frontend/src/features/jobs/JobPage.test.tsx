import { describe, expect, it } from 'vitest';
import { arrayJob } from '@/testing/answers/arrayJob';
import { failedJob } from '@/testing/answers/failedJob';
import { all, isLoading, names, textOf, withRole } from '@/testing/markup';
import { ErrorAnswer, page } from '@/testing/page';
import { answers, FULL } from '@/testing/recorded';

const FAILED = `/jobs/${failedJob.id}`;

describe("a job's page", () => {
  it('shows why a job failed, with the line of its log', async () => {
    const markup = await page(FAILED, FULL);
    expect(names(markup, 'h1')).toEqual([failedJob.name]);
    const text = textOf(markup);
    expect(text).toContain('It ended with exit code 3.');
    expect(text).toContain("ModuleNotFoundError: No module named 'nothing_like_that'");
    expect(text).toMatch(/Exit code 3/);
    expect(names(markup, 'button')).toEqual(
      expect.arrayContaining(['Show it in the log', 'More actions']),
    );
    expect(names(markup, 'a')).toContain('Run again');
    expect(names(markup, 'button')).not.toContain('Cancel');
  });

  it("shows an array's tasks, each with its parameters and its log", async () => {
    const markup = await page(`/jobs/${arrayJob.id}`, FULL);
    const tasks = arrayJob.array.tasks;
    expect(names(markup, 'a').filter((name) => name.startsWith('Log of task'))).toEqual(
      tasks.map(({ index }) => `Log of task ${index}`),
    );
    expect(textOf(markup)).toContain('4 tasks: 4 completed');
    expect(textOf(markup)).toContain('learning_rate');
  });

  it('links its folder to Files', async () => {
    const roots = { items: [{ name: 'home', path: '/cluster/home/carol' }] };
    const job = { ...failedJob, logdir: '/cluster/home/carol/portal/runs/one' };
    const markup = await page(FAILED, {
      answers: { ...answers, [FAILED]: job, '/files/roots': roots },
    });
    expect(names(markup, 'a')).toContain('/cluster/home/carol/portal/runs/one');
  });

  it('offers the executed copy of a notebook', async () => {
    const job = { ...failedJob, executed_notebook: '/cluster/home/carol/out.ipynb' };
    const markup = await page(FAILED, { answers: { ...answers, [FAILED]: job } });
    expect(textOf(markup)).toContain('The executed notebook');
    expect(textOf(await page(FAILED, FULL))).not.toContain('The executed notebook');
  });

  it('says which Slurm jobs were lost and submitted again', async () => {
    const job = { ...failedJob, lost_job_ids: [141, 145] };
    const markup = await page(FAILED, { answers: { ...answers, [FAILED]: job } });
    expect(textOf(markup)).toContain('Slurm lost it 2 times, as jobs 141, 145,');
    expect(textOf(await page(FAILED, FULL))).not.toContain('Slurm lost it');
  });

  it('shows the reason and suggestion for a failed array task', async () => {
    const [first, ...others] = arrayJob.array.tasks;
    const failed = {
      ...first,
      outcome: 'failed',
      reason: 'A disk was full.',
      suggestion: 'Free some.',
    };
    const job = { ...arrayJob, array: { ...arrayJob.array, tasks: [failed, ...others] } };
    const url = `/jobs/${arrayJob.id}`;
    const markup = await page(url, { answers: { ...answers, [url]: job } });
    expect(textOf(markup)).toContain('A disk was full. Free some.');
  });

  it('offers to cancel a running job', async () => {
    const running = { ...failedJob, state: 'running', outcome: null, ended_at: null, reason: null };
    const markup = await page(FAILED, { answers: { ...answers, [FAILED]: running } });
    expect(names(markup, 'button')).toContain('Cancel');
    expect(names(markup, 'button')).not.toContain('Remove');
    expect(textOf(markup)).not.toContain('It ended with');
  });

  it('puts what is rarely needed into a menu', async () => {
    const running = { ...failedJob, state: 'running', outcome: null, ended_at: null, reason: null };
    for (const [job, variant] of [
      [failedJob, 'default'],
      [running, 'filled'],
    ] as const) {
      const markup = await page(FAILED, { answers: { ...answers, [FAILED]: job } });
      const board = all(markup, 'a').find((link) => textOf(link.markup) === 'TensorBoard');
      expect(board?.attributes).toContain(`data-variant="${variant}"`);
      expect(names(markup, 'a').includes('Run again')).toBe(variant === 'default');
      expect(names(markup, 'button')).toContain('More actions');
      expect(names(markup, 'button')).not.toContain('Remove');
    }
  });

  it('shows options to start sooner while it is pending', async () => {
    const queued = { state: 'queued', outcome: null, started_at: null, ended_at: null };
    const other = { title: '2 GPUs instead of 4', start_at: '2026-01-01T00:00:00Z' };
    const estimate = { start_at: null, certain: false, note: '', alternatives: [other] };
    const url = `/jobs/${failedJob.id}`;
    const known = { ...answers, [url]: { ...failedJob, ...queued }, '/estimates': estimate };
    expect(textOf(await page(url, { answers: known }))).toContain('2 GPUs instead of 4 – at once');
    const running = { ...known, [url]: { ...failedJob, ...queued, state: 'running' } };
    expect(textOf(await page(url, { answers: running }))).not.toContain('instead of');
  });

  it('reports an unreadable log', async () => {
    const failing = { [`${FAILED}/log`]: new ErrorAnswer(403, 'The log is locked.') };
    const markup = await page(FAILED, { answers: { ...answers, ...failing } });
    expect(textOf(markup)).toContain('The log is locked.');
  });

  it('shows loading, a missing job and an error', async () => {
    expect(isLoading(await page(FAILED, { early: true }))).toBe(true);
    expect(names(await page(FAILED), 'h1')).toEqual(['There is nothing at this address']);
    const markup = await page(FAILED, { answers: { [FAILED]: new ErrorAnswer(403, 'Not now.') } });
    expect(names(markup, 'h1')).toEqual(['Job']);
    expect(names(markup, 'a')).toContain('← Your jobs');
    expect(names(markup, 'button')).toContain('Try again');
    expect(withRole(markup, 'alert').join()).toContain('Not now.');
  });
});
