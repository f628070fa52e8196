import { beforeEach, describe, expect, it } from 'vitest';
import { connectionLost, whyEnded } from './connection';
import type { Dialogs } from './jupyter';
import { FakePage } from './testing';

describe('why a session has ended', () => {
  const urls: string[] = [];
  const why = (answer: Response | Error) =>
    whyEnded('/user/alice/s1/', async (url) => {
      urls.push(url);
      if (answer instanceof Error) throw answer;
      return answer;
    });

  it("is the portal's response at the session's own address", async () => {
    const detail = "This session isn't running. It reached its time limit.";
    expect(await why(Response.json({ detail }, { status: 424 }))).toBe(detail);
    expect(urls).toEqual(['/user/alice/s1/api/status']);
  });

  it('is null if it runs, or nothing answers', async () => {
    expect(await why(Response.json({}))).toBeNull();
    expect(await why(new Response('', { status: 502 }))).toBeNull();
    expect(await why(new Error('network'))).toBeNull();
  });
});

describe('the dialog of a lost connection', () => {
  let page: FakePage;
  let shown: { title: string; body: string; labels: string[] }[];
  let press = 'Dismiss';
  const button = (accept: boolean) => (options: { label: string }) => ({ accept, ...options });
  const dialogs = {
    Dialog: { okButton: button(true), cancelButton: button(false), warnButton: button(true) },
    showDialog: async ({ title, body, buttons }) => {
      const labelled = buttons as unknown as { label: string; accept: boolean }[];
      shown.push({ title, body, labels: labelled.map(({ label }) => label) });
      const pressed = labelled.find(({ label }) => label === press);
      if (pressed === undefined) throw new Error(`no button ${press}`);
      return { button: pressed };
    },
  } satisfies Dialogs;
  const lost = (why: string | null) =>
    connectionLost({
      dialogs,
      watch: () => page.watch,
      baseUrl: '/user/alice/s1/',
      tabs: page,
      why: async () => why,
    });

  beforeEach(async () => {
    page = new FakePage();
    shown = [];
    press = 'Dismiss';
    page.watch.start();
    await page.advance(0);
  });

  it('shows the reason and links to the page that restarts the session', async () => {
    press = 'Start It Again…';
    await lost('It was stopped.')();
    expect(shown).toEqual([
      {
        title: "This session isn't running",
        body: 'It was stopped.',
        labels: ['Dismiss', 'Start It Again…'],
      },
    ]);
    expect(page.opened).toEqual(['p:/again']);
  });

  it('offers no restart if the session may still run', async () => {
    await lost(null)();
    expect(shown[0]?.title).toBe("The session doesn't answer");
    expect(shown[0]?.labels).toEqual(['Dismiss']);
    expect(page.opened).toEqual([]);
  });

  it('is opened once for many failed requests', async () => {
    const onLost = lost('It was stopped.');
    await Promise.all([onLost(), onLost()]);
    expect(shown).toHaveLength(1);
  });
});
