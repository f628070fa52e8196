import type { ComponentProps } from 'react';
import { describe, expect, it, vi } from 'vitest';
import type { Session } from '@/api/types';
import { sessionUse } from '@/testing/answers/sessionUse';
import { isLoading, names, textOf, withRole } from '@/testing/markup';
import { ErrorAnswer, page } from '@/testing/page';
import { answers, endedSession, FULL, runningSession } from '@/testing/recorded';
import type { CurveChart } from '@/ui/plot/CurveChart';

/** Canvases are tested in a browser. */
vi.mock('@/ui/plot/CurveChart', () => ({
  CurveChart: ({ title, text }: ComponentProps<typeof CurveChart>) => (
    <figure>
      {title}: {text}
    </figure>
  ),
}));

const AT = `/sessions/${runningSession.id}`;

/** Render the page of this session, as the event stream reports it. */
const pageOf = (session: Session): Promise<string> =>
  page(AT, { answers, snapshot: { sessions: [session] } });

describe("a session's page", () => {
  it('shows a running session with its actions', async () => {
    const markup = await page(AT, FULL);
    expect(names(markup, 'h1')).toEqual([runningSession.name]);
    expect(textOf(markup)).toMatch(/Python 3\.11 Running/);
    expect(names(markup, 'a')).toContain('Open JupyterLab');
    expect(names(markup, 'button')).toEqual(
      expect.arrayContaining(['Stop', 'Terminal', `More time for ${runningSession.name}`]),
    );
    expect(textOf(markup)).toContain(`Node ${runningSession.node}`);
    expect(textOf(markup)).toMatch(/\d+ min left/);
    expect(names(markup, 'h2')).toEqual(expect.arrayContaining(['Usage', 'Your packages']));
  });

  it('shows the metrics that were logged in it, if there are any', async () => {
    const curve = { run: '', tag: 'loss', count: 2, not_finite: 0 };
    const values = { steps: [0, 1], at: [1, 2], values: [3, 4] };
    const read = { id: runningSession.id, curves_left_out: 0, complete: true, problem: null };
    const withCurves = (curves: object[]) =>
      page(AT, {
        ...FULL,
        answers: { ...answers, [`${AT}/curves`]: { ...read, refresh_s: 15, curves } },
      });
    const markup = await withCurves([{ ...curve, ...values }]);
    expect(names(markup, 'h2')).toContain('Metrics');
    expect(textOf(markup)).toContain('loss: Last value: 4');
    expect(names(await withCurves([]), 'h2')).not.toContain('Metrics');
  });

  it('explains that a program was killed because memory ran out', async () => {
    const use = { ...sessionUse, memory_killed_at: '2026-01-01T00:00:00Z' };
    const markup = await page(AT, { ...FULL, answers: { ...answers, [`${AT}/use`]: use } });
    expect(textOf(markup)).toContain("The session's memory ran out");
  });

  it('shows an ended session, and offers to start it again', async () => {
    const markup = await page(`/sessions/${endedSession.id}`, FULL);
    expect(textOf(markup)).toContain('It was stopped.');
    expect(names(markup, 'button')).toEqual(
      expect.arrayContaining(['Start again', 'Remove from the list']),
    );
    expect(names(markup, 'button')).not.toContain('Stop');
    expect(names(markup, 'a')).not.toContain('Open JupyterLab');
  });

  it('shows why a session waits, and a suggestion', async () => {
    const nothing = { started_at: null, ready_at: null, expires_at: null, node: null, url: null };
    const markup = await pageOf({
      ...runningSession,
      ...nothing,
      state: 'queued',
      reason: 'All GPUs are taken.',
      suggestion: 'Ask for fewer.',
    });
    expect(textOf(markup)).toContain('All GPUs are taken.');
    expect(textOf(markup)).toContain('Ask for fewer.');
    expect(names(markup, 'a')).not.toContain('Open JupyterLab');
    expect(names(markup, 'h2')).not.toContain('Usage');
  });

  it('marks the state as stale while Slurm does not respond', async () => {
    const markup = await pageOf({ ...runningSession, stale_since: '2026-01-01T00:00:00Z' });
    expect(textOf(markup)).toContain('Slurm has not responded since');
  });

  it('is fetched if it is not in the event stream', async () => {
    const markup = await page(AT, { answers });
    expect(names(markup, 'h1')).toEqual([runningSession.name]);
  });

  it('waits for the session', async () => {
    expect(isLoading(await page(AT, { snapshot: null, early: true }))).toBe(true);
  });

  it('reports a session that does not exist', async () => {
    const markup = await page(AT);
    expect(names(markup, 'h1')).toEqual(['There is nothing at this address']);
  });

  it('shows the error', async () => {
    const markup = await page(AT, { answers: { [AT]: new ErrorAnswer(403, 'Not now.') } });
    expect(withRole(markup, 'alert').join()).toContain('Not now.');
    expect(names(markup, 'h1')).toEqual(['Session']);
    expect(names(markup, 'a')).toContain('← Home');
    expect(names(markup, 'button')).toContain('Try again');
  });
});
