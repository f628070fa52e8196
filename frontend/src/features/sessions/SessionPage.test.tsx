import { describe, expect, it } from 'vitest';
import type { Session } from '@/api/types';
import { sessionUse } from '@/testing/answers/sessionUse';
import { isLoading, names, textOf, withRole } from '@/testing/markup';
import { page, Refused } from '@/testing/page';
import { answers, endedSession, FULL, runningSession } from '@/testing/recorded';

const AT = `/sessions/${runningSession.id}`;

/** Render the page of this session, as the event stream reports it. */
const pageOf = (session: Session): Promise<string> =>
  page(AT, { answers, live: { sessions: [session] } });

describe('a session’s page', () => {
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

  it('explains that a program was killed because memory ran out', async () => {
    const use = { ...sessionUse, memory_killed_at: '2026-01-01T00:00:00Z' };
    const markup = await page(AT, { ...FULL, answers: { ...answers, [`${AT}/use`]: use } });
    expect(textOf(markup)).toContain('The session’s memory ran out');
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
    expect(textOf(markup)).toContain('Slurm has not answered since');
  });

  it('is fetched if it is not in the event stream', async () => {
    const markup = await page(AT, { answers });
    expect(names(markup, 'h1')).toEqual([runningSession.name]);
  });

  it('waits for the session', async () => {
    expect(isLoading(await page(AT, { live: null, early: true }))).toBe(true);
  });

  it('reports a session that does not exist', async () => {
    const markup = await page(AT);
    expect(names(markup, 'h1')).toEqual(['There is nothing at this address']);
  });

  it('shows the error', async () => {
    const markup = await page(AT, { answers: { [AT]: new Refused(403, 'Not now.') } });
    expect(withRole(markup, 'alert').join()).toContain('Not now.');
  });
});
