import { describe, expect, it } from 'vitest';
import { sizeText } from '@/lib/sizes';
import { limits } from '@/testing/answers/limits';
import { recordedAt } from '@/testing/answers/recordedAt';
import { space } from '@/testing/answers/space';
import { isLoading, names, textOf } from '@/testing/markup';
import { ErrorAnswer, page } from '@/testing/page';
import { answers, endedSession, FULL, runningJob, runningSession } from '@/testing/recorded';

describe('the home page', () => {
  it('shows sessions, setups, jobs and free resources', async () => {
    const markup = await page('/', FULL);
    const { name } = runningSession;
    expect(names(markup, 'h2')).toEqual(
      expect.arrayContaining(['Your sessions', 'Start again', 'Your jobs', 'Earlier sessions']),
    );
    expect(names(markup, 'a')).toEqual(
      expect.arrayContaining([
        name,
        'Open JupyterLab',
        endedSession.name,
        runningJob.name,
        'Why broken import failed',
      ]),
    );
    expect(names(markup, 'button')).toEqual(
      expect.arrayContaining([`More time for ${name}`, 'Stop', 'Start again']),
    );
    // the others are in the cards' menus
    expect(names(markup, 'button')).toContain(`Actions of ${name}`);
    expect(names(markup, 'a')).not.toContain('TensorBoard');
    const text = textOf(markup);
    expect(text).toContain('It ended with exit code 3.');
    expect(text).toContain('0 of 8 GPUs in use');
    expect(text).toContain('1 session, 1 job');
    const rooms = space.items.map(({ free_bytes, total_bytes }) => {
      return `${sizeText(total_bytes - free_bytes)} of ${sizeText(total_bytes)} are used`;
    });
    expect(text).toContain(rooms[0]);
    expect(isLoading(markup)).toBe(false);
  });

  it('offers a start for each setup, by name and content', async () => {
    const markup = await page('/', FULL);
    expect(names(markup, 'button')).toContain(
      'Start a session: Small and quick, Python 3.11, no GPU, 1 CPU, 256 MB, 10 min',
    );
    expect(names(markup, 'a')).toContain('Change before starting: Small and quick');
  });

  it('shows the recent use and last metric of what runs, and hints at idle GPUs', async () => {
    const quiet = { percent: [0, 0], gpu_idle_longer: false, metric: null };
    const metric = { tag: 'train/loss', value: 0.51234 };
    const idle = new Date(Date.parse(recordedAt) - 25 * 60_000).toISOString();
    const items = [
      { ...quiet, id: runningSession.id, resource: 'gpu', gpu_idle_since: idle },
      { ...quiet, id: runningJob.id, resource: 'cpu', percent: [3], gpu_idle_since: null, metric },
    ];
    const recent = { ...answers, '/me/recent-usage': { step_s: 30, items } };
    const markup = await page('/', { ...FULL, answers: recent });
    const text = textOf(markup);
    expect(text).toContain('GPU idle for 25 min');
    expect(text).toContain('CPU 3 % now');
    expect(text).toContain('train/loss 0.5123');
    expect(names(markup, 'button')).toEqual(
      expect.arrayContaining([
        `Stop ${runningSession.name}`,
        `Keep running: ${runningSession.name}`,
      ]),
    );
    expect(names(markup, 'button')).not.toContain(`Keep running: ${runningJob.name}`);
  });

  it('guides a user without sessions or jobs', async () => {
    const none = { items: [] };
    const nothing = { ...answers, '/setups': none, '/setups/recent': none };
    const markup = await page('/', { answers: nothing });
    expect(names(markup, 'h2')).toContain('Start your first session');
    expect(names(markup, 'h2')).not.toContain('Start again');
    expect(names(markup, 'h2')).not.toContain('Earlier sessions');
    expect(textOf(markup)).toContain('A job runs a script in the background');
    expect(names(markup, 'a')).toEqual(expect.arrayContaining(['Start a session', 'Submit a job']));
  });

  it("shows the user's usage and limits", async () => {
    const effective = {
      ...limits.effective,
      sessions: { value: 2, from: { kind: 'user', name: 'carol' }, otherwise: null },
    };
    const mine = { ...answers, '/me/limits': { ...limits, effective } };
    const markup = await page('/', { ...FULL, answers: mine });
    expect(textOf(markup)).not.toContain('No limits are set for you');
    expect(textOf(markup)).toMatch(/Sessions 1 of 2/);
  });

  it('shows what is still loading', async () => {
    const markup = await page('/', { snapshot: null, early: true });
    expect(isLoading(markup)).toBe(true);
    expect(textOf(markup)).not.toContain('Start your first session');
  });

  it('shows for each part why it is unavailable', async () => {
    const failing = (detail: string): ErrorAnswer => new ErrorAnswer(403, detail);
    const markup = await page('/', {
      snapshot: FULL.snapshot,
      answers: {
        '/setups': failing('Setups are locked.'),
        '/setups/recent': failing('Setups are locked.'),
        '/me/limits': failing('Limits are locked.'),
        '/files/space': failing('Space is locked.'),
      },
    });
    const text = textOf(markup);
    expect(text).toContain("Your saved setups can't be shown. Setups are locked.");
    expect(text).toContain('Limits are locked.');
    expect(text).toContain('Space is locked.');
    expect(names(markup, 'a')).toContain(runningSession.name);
    expect(isLoading(markup)).toBe(false);
  });
});
