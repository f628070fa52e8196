import { describe, expect, it } from 'vitest';
import type { Session } from '@/api/types';
import { names, textOf } from '@/testing/markup';
import { page, type Scene } from '@/testing/page';
import { answers, endedSession, runningSession } from '@/testing/recorded';
import { stoppedApp } from '@/testing/stoppedApp';

const starting: Session = { ...runningSession, state: 'starting', ready_at: null, url: null };
const openWith = { name: 'vscode', title: 'VS Code' };

/** Render the page that waits for this session. */
const pageOf = (session: Session, scene: Scene = {}): Promise<string> =>
  page(`/start-again/${session.name}`, { answers, snapshot: { sessions: [session] }, ...scene });

describe('the page that waits for a session', () => {
  it('leads to JupyterLab, and its address starts no app', async () => {
    expect(textOf(await pageOf(starting))).toContain('This page opens JupyterLab automatically');
    const address = `/start-again/${starting.name}?openWith=vscode&app=vscode`;
    const markup = await page(address, { answers, snapshot: { sessions: [starting] } });
    expect(textOf(markup)).toContain('This page opens JupyterLab automatically');
  });

  it('leads to the app in its history state', async () => {
    const markup = await pageOf(starting, { state: { openWith } });
    expect(names(markup, 'h1')).toEqual([`Starting ${starting.name}`]);
    expect(textOf(markup)).toContain('This page opens VS Code automatically');
  });

  it('waits for the app once the session runs, beside its JupyterLab', async () => {
    const apps = { items: [{ ...stoppedApp, ...openWith, state: 'starting' }] };
    const markup = await pageOf(runningSession, {
      state: { openWith },
      answers: { ...answers, [`/sessions/${runningSession.id}/apps`]: apps },
    });
    expect(names(markup, 'h1')).toEqual([`${runningSession.name} is running`]);
    expect(textOf(markup)).toContain('VS Code is starting…');
    expect(names(markup, 'a')).toContain('Open JupyterLab');
  });

  it('starts no app of a session that has ended', async () => {
    const markup = await pageOf(endedSession, { state: { openWith } });
    expect(names(markup, 'h1')).toEqual([`${endedSession.name} isn't running`]);
    expect(textOf(markup)).not.toContain('VS Code');
    expect(names(markup, 'button')).toContain('Start again');
  });
});
