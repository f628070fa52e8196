import { beforeEach, describe, expect, it } from 'vitest';
import type { SessionJob } from './facts';
import { JobActions } from './jobActions';
import { JobWatch, stateText, timeText } from './jobs';
import type { Dialogs } from './jupyter';
import { messages } from './messages';
import { RequestError } from './server';
import { endedJob, FakePage, job, MIN, START } from './testing';
import { ASK_EVERY_MS } from './watch';

let page: FakePage;
let jobs: JobWatch;
let acts: JobActions;
let shown: (string | undefined)[];
let executed: unknown[];
let press: string;
let asked: string[];

const button = (accept: boolean) => (options: { label: string }) => ({ accept, ...options });
const dialogs = {
  Dialog: {
    okButton: button(true),
    cancelButton: button(false),
    warnButton: button(true),
  },
  showDialog: async ({ title, buttons }) => {
    asked.push(title);
    const pressed = (buttons as { label: string; accept: boolean }[]).find(
      ({ label }) => label === press,
    );
    if (pressed === undefined) throw new Error(`no button ${press}`);
    return { button: pressed };
  },
} satisfies Dialogs;

beforeEach(() => {
  page = new FakePage();
  jobs = new JobWatch(page, page);
  [shown, executed, asked, press] = [[], [], [], messages.cancelJob];
  acts = new JobActions({
    jobs,
    notify: page.notify,
    dialogs,
    contents: page.contents,
    commands: { execute: async (...call) => executed.push(call) },
    showPanel: (id) => shown.push(id),
    tabs: page,
  });
});

/** Poll with this list of jobs. */
async function poll(...list: SessionJob[]): Promise<void> {
  page.ownJobs = list;
  await page.advance(MIN, [ASK_EVERY_MS]);
}

describe('the list of jobs', () => {
  it('keeps its last state while the portal does not answer', async () => {
    jobs.start();
    await page.advance(0, []);
    await poll(job('a'));
    page.ownJobs = new RequestError('Away.', 502);
    await page.advance(MIN, [ASK_EVERY_MS]);
    expect([jobs.jobs?.length, jobs.errorMessage]).toEqual([1, 'Away.']);
    await poll();
    expect([jobs.jobs, jobs.errorMessage]).toEqual([[], null]);
  });

  it('is not requested from a hidden page, nor from a server without it', async () => {
    page.isHidden = true;
    jobs.start();
    await page.advance(0, []);
    await poll(job('a'));
    expect(jobs.jobs).toEqual([]);
    page.isHidden = false;
    page.ownJobs = new RequestError('Not Found', 404);
    await page.advance(MIN, [ASK_EVERY_MS]);
    expect(jobs.errorMessage).toContain('earlier version');
    await poll(job('a'));
    expect(jobs.jobs).toEqual([]);
  });

  it('names states and times', () => {
    expect(stateText(job('a'))).toBe('Running');
    expect(timeText(job('a'), START)).toBe('for 12 min');
    expect(timeText(job('a', { started_at: null }), START)).toBe('for 20 min');
    const over = endedJob('b', -3, { outcome: 'out_of_memory' });
    expect([stateText(over), timeText(over, START)]).toEqual(['Out of memory', '3 min ago']);
  });
});

describe('the notification of an ended job', () => {
  it('comes once, and not for jobs that ended before', async () => {
    page.ownJobs = [job('a'), endedJob('old', -5)];
    jobs.start();
    await page.advance(0, []);
    await poll(endedJob('a', 1, { outcome: 'failed' }), endedJob('old', -5));
    await poll(endedJob('a', 1, { outcome: 'failed' }), endedJob('older', -50));
    expect(page.notifications).toEqual(['error: job-a: Failed']);
    page.actions[0]?.callback();
    expect(shown).toEqual(['a']);
  });

  it('comes for a job that was never listed as running', async () => {
    jobs.start();
    await page.advance(0, []);
    await poll(endedJob('quick', 0.5));
    expect(page.notifications).toEqual(['success: job-quick: Completed']);
  });

  it('counts jobs that end together', async () => {
    page.ownJobs = ['a', 'b', 'c'].map((id) => job(id));
    jobs.start();
    await page.advance(0, []);
    await poll(...['a', 'b', 'c'].map((id) => endedJob(id, 1)));
    expect(page.notifications).toEqual(['info: 3 jobs ended']);
    page.actions[0]?.callback();
    expect(shown).toEqual([undefined]);
  });

  it('opens the executed notebook first', async () => {
    const notebook = { notebook: '/home/alice/out.ipynb', path: 'out.ipynb' };
    page.ownJobs = [job('a', notebook)];
    page.files = ['out.ipynb'];
    jobs.start();
    await page.advance(0, []);
    await poll(endedJob('a', 1, notebook));
    expect(page.actions.map(({ label }) => label)).toEqual(['Open Notebook', 'Open Log']);
    await acts.openNotebook(endedJob('a', 1, notebook));
    expect(executed).toEqual([['docmanager:open', { path: 'out.ipynb' }]]);
  });
});

describe('the actions', () => {
  it('link to the portal for a notebook that JupyterLab cannot open', async () => {
    for (const path of ['missing.ipynb', null]) {
      await acts.openNotebook(endedJob('a', 1, { notebook: '/data/missing.ipynb', path }));
      page.actions[0]?.callback();
    }
    expect(executed).toEqual([]);
    expect(page.opened).toEqual(['p:/jobs/a', 'p:/jobs/a']);
  });

  it('cancel a job after a question', async () => {
    press = messages.keepRunning;
    await acts.cancel(job('a'));
    expect([asked, page.cancelled]).toEqual([['Cancel job-a?'], []]);
    press = messages.cancelJob;
    await acts.cancel(job('a'));
    expect(page.cancelled).toEqual(['a']);
    page.answer = new RequestError('This job has already ended: it failed.', 409);
    await acts.cancel(job('a'));
    expect(page.notifications).toEqual(['error: This job has already ended: it failed.']);
  });
});
