import { beforeEach, describe, expect, it } from 'vitest';
import { addCommands, EXTEND, fillMenu, TERMINAL } from './commands';
import type { Facts, SessionUpdate } from './facts';
import type { CommandArgs, Commands, Menu } from './jupyter';
import { RequestError } from './server';
import { FakePage, MIN, notebookPanel, START, session } from './testing';
import { TICK_MS } from './watch';

let page: FakePage;
beforeEach(async () => {
  page = new FakePage();
  page.watch.start();
  await page.advance(0);
});

describe('watching the session', () => {
  it("counts down by itself, and by the portal's clock", async () => {
    expect(page.watch.leftMs).toBe(60 * MIN);
    await page.advance(10 * MIN, [TICK_MS]);
    expect(page.watch.leftMs).toBe(50 * MIN);
    page.clock = START + 600 * MIN; // this browser's clock is wrong by ten hours
    page.watch.applyFacts(session(60));
    expect(page.watch.leftMs).toBe(60 * MIN);
  });

  it('keeps its last state while the portal does not answer', async () => {
    page.facts = new RequestError('Away.', 502);
    await page.advance(MIN);
    expect(page.watch.errorMessage).toBe('Away.');
    expect(page.watch.facts?.session.name).toBe('s1');
    page.facts = session(70);
    await page.advance(MIN);
    expect(page.watch.errorMessage).toBeNull();
  });

  it('ignores responses older than the last action', async () => {
    const old = { facts: session(10), problem: null, use: page.watch.use, kept: false };
    let answer: (news: SessionUpdate) => void = () => {};
    page.fetchUpdate = () => new Promise((resolve) => (answer = resolve));
    const refreshing = page.watch.refresh();
    page.watch.applyFacts(session(120));
    page.watch.keep();
    answer(old);
    await refreshing;
    expect([page.watch.leftMs, page.watch.kept]).toEqual([120 * MIN, true]);
    expect(page.notifications).toEqual([]);
  });

  it('stops polling if the server has no session', async () => {
    page.facts = new RequestError('Not found', 404);
    await page.advance(MIN);
    const { requestCount } = page;
    await page.advance(MIN);
    expect(page.requestCount).toBe(requestCount);
  });

  it('polls from a hidden page only near the end', async () => {
    page.isHidden = true;
    const { requestCount } = page;
    await page.advance(MIN);
    expect(page.requestCount).toBe(requestCount);
    await page.advance(50 * MIN);
    expect(page.requestCount).toBe(requestCount + 1);
  });
});

describe('the warning', () => {
  it('comes twice, offers more time, and closes after an extension', async () => {
    await page.advance(46 * MIN, [TICK_MS]);
    await page.advance(MIN, [TICK_MS]);
    expect(page.notifications).toHaveLength(1);
    expect(page.notifications[0]).toContain('ends in 14 min');
    await page.advance(9 * MIN, [TICK_MS]);
    expect(page.notifications).toHaveLength(2);
    expect(page.dismissed).toEqual(['id-1']);
    expect(page.actions.map(({ label }) => label)).toEqual(['Extend by 1 Hour']);
    page.answer = { ...session(120), now: new Date(page.clock).toISOString() };
    page.actions[0]?.callback();
    await page.advance(0, []);
    expect(page.extended).toEqual([60]);
    expect(page.dismissed).toEqual(['id-1', 'id-2']);
    expect(page.notifications[2]).toMatch(/^success: This session now ends at/);
    await page.advance(MIN, [TICK_MS]);
    expect(page.notifications).toHaveLength(3);
  });

  it('offers no extension if none is possible', async () => {
    page.watch.applyFacts(session(10, 0, 'That is all.'));
    expect(page.notifications).toHaveLength(1);
    expect(page.actions).toEqual([]);
  });
});

describe('the idle warning', () => {
  const idle = (sinceMs: number, gpus = 1): Facts => {
    const facts = session(600);
    const resources = { ...facts.session.resources, gpus, cpus: 4 };
    const idle_since = new Date(sinceMs).toISOString();
    return { ...facts, session: { ...facts.session, resources, idle_since } };
  };
  const runAction = (label: string) =>
    page.actions.find((action) => action.label === label)?.callback();

  it('shows the duration and the held resources once', async () => {
    page.facts = idle(START - 60 * MIN);
    await page.advance(0);
    expect(page.notifications).toEqual([
      'Nothing has run here for 1 h. The session holds 1 GPU and 4 CPUs that others could use.',
    ]);
    await page.advance(5 * MIN);
    expect(page.notifications).toHaveLength(1);
    runAction('Stop Session…');
    expect(page.opened).toEqual(['p:/s?stop=true']);
  });

  it("omits GPUs that the session doesn't have", async () => {
    page.facts = idle(START - 60 * MIN, 0);
    await page.advance(0);
    expect(page.notifications[0]).toContain('The session holds 4 CPUs that');
  });

  it('closes once something runs, and returns for the next idle period', async () => {
    page.facts = idle(START - 60 * MIN);
    await page.advance(0);
    page.facts = session(600);
    await page.advance(0);
    expect(page.dismissed).toEqual(['id-1']);
    page.facts = idle(START - 30 * MIN);
    await page.advance(0);
    expect(page.notifications).toHaveLength(2);
  });

  it('is answered for every tab, until the next idle period', async () => {
    page.facts = idle(START - 60 * MIN);
    await page.advance(0);
    runAction('Keep Running');
    await page.advance(MIN);
    expect([page.kept, page.dismissed]).toEqual([true, ['id-1']]);
    const other = new FakePage();
    [other.kept, other.facts] = [true, page.facts];
    other.watch.start();
    await other.advance(MIN);
    expect(other.notifications).toEqual([]);
    [page.kept, page.facts] = [false, idle(START)];
    await page.advance(60 * MIN);
    expect(page.notifications).toHaveLength(2);
  });

  it('reports that the answer was not saved, and stays closed here', async () => {
    page.facts = idle(START - 60 * MIN);
    page.answer = new RequestError('Away.', 502);
    await page.advance(0);
    runAction('Keep Running');
    await page.advance(MIN);
    expect(page.notifications.slice(1)).toEqual(['error: Away.']);
  });
});

describe("the user's actions", () => {
  const panel = (path: string, over: object = {}, kernel: string | null = 'r') =>
    notebookPanel({ path, ...over }, kernel);

  it('reports why there is no more time, and sends one request for two clicks', async () => {
    page.answer = new RequestError('node01 is kept for maintenance.', 422);
    await Promise.all([page.acts.extend(60), page.acts.extend(60)]);
    expect(page.extended).toEqual([60]);
    expect(page.notifications).toEqual(['error: node01 is kept for maintenance.']);
  });

  it("opens TensorBoard's page at the click, and reports errors", async () => {
    page.answer = new RequestError('Away.', 502);
    await page.acts.tensorboard();
    expect(page.opened).toEqual(['p:/t']);
    expect(page.notifications).toEqual(['error: Away.']);
  });

  it('saves a notebook and opens the form with its kernel', async () => {
    let saved = 0;
    const save = async () => {
      saved += 1;
    };
    await page.acts.runNotebook(panel('a/b.ipynb', { model: { dirty: true }, save }));
    expect(saved).toBe(1);
    expect(page.opened[0]).toMatch(/^p:\/run\?template=notebook&environment=r&/);
    await page.acts.runNotebook(panel('c.ipynb', {}, null));
    expect(page.opened[1]).toContain('environment=python3');
  });

  it('opens no form for notebooks that are unsaved or outside of the home', async () => {
    const save = () => Promise.reject(new Error('full'));
    await page.acts.runNotebook(panel('a.ipynb', { model: { dirty: true }, save }));
    expect(page.opened).toEqual(['closed']);
    await page.acts.runNotebook(panel('RTC:a.ipynb'));
    await page.acts.runNotebook(null);
    expect(page.opened).toEqual(['closed']);
    expect(page.notifications[0]).toContain('could not be saved');
    expect(page.notifications[1]).toContain('in your home');
  });
});

describe('the menu', () => {
  type Options = Parameters<Commands['addCommand']>[1];

  const added = new Map<string, Options>();
  const executed: unknown[] = [];
  let items: { command?: string; args?: CommandArgs }[] = [];
  const commands: Commands = {
    addCommand: (id, options) => void added.set(id, options),
    execute: async (...call) => executed.push(call),
    notifyCommandChanged: () => {},
    addKeyBinding: () => {},
  };
  const menu: Menu = {
    title: { label: '' },
    aboutToClose: { connect: () => true },
    addItem: (item) => void items.push(item),
    clearItems: () => {
      items = [];
    },
    open: () => {},
  };

  it('stops the session on its page in the portal, which asks first', () => {
    addCommands(commands, page.watch, page.acts, undefined);
    fillMenu(menu, commands, page.watch, page.acts);
    const last = added.get(items.at(-1)?.command ?? '');
    expect(last?.label).toBe('Stop Session…');
    last?.execute({});
    expect(page.opened).toEqual(['p:/s?stop=true']);
  });

  it('opens a terminal in the environment that the File menu names', async () => {
    addCommands(commands, page.watch, page.acts, undefined);
    const { label, execute } = added.get(TERMINAL) ?? {};
    const args = { name: 'env_r', title: 'R 4.2' };
    expect(typeof label === 'function' ? label(args) : label).toBe('R 4.2');
    await execute?.(args);
    expect(executed).toEqual([['terminal:create-new', { name: 'env_r' }]]);
  });

  it('offers possible extensions, or shows why there are none', async () => {
    addCommands(commands, page.watch, page.acts, undefined);
    fillMenu(menu, commands, page.watch, page.acts);
    const label = (args: CommandArgs = {}) => {
      const label = added.get(EXTEND)?.label;
      return typeof label === 'function' ? label(args) : label;
    };
    const offered = () => items.filter(({ command }) => command === EXTEND);
    expect(offered().map(({ args }) => label(args))).toEqual([
      'Extend by 1 Hour',
      'Extend by 2 Hours',
      'Extend by 4 Hours',
    ]);
    page.watch.applyFacts(session(60, 25));
    expect(offered().map(({ args }) => label(args))).toEqual(['Extend by 25 Minutes']);
    page.watch.applyFacts(session(60, 0, 'Partition cpu allows at most 4 hours.'));
    expect(offered().map(({ args }) => label(args))).toEqual([
      "Can't Be Extended: Partition cpu allows at most 4 hours.",
    ]);
    expect(added.get(EXTEND)?.isEnabled?.({})).toBe(false);
    await added.get(EXTEND)?.execute({});
    expect(page.extended).toEqual([]);
  });
});
