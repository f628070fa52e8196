import { beforeEach, describe, expect, it } from 'vitest';
import { addCommands, EXTEND, fillMenu, TERMINAL } from './commands';
import type { Facts, News } from './facts';
import type { CommandArgs, Commands, Menu } from './jupyter';
import { Refusal } from './server';
import { MIN, notebookPanel, START, session, World } from './testing';
import { TICK_MS } from './watch';

let world: World;
beforeEach(async () => {
  world = new World();
  world.watch.start();
  await world.pass(0);
});

describe('watching the session', () => {
  it('counts down by itself, and by the portal’s clock', async () => {
    expect(world.watch.leftMs).toBe(60 * MIN);
    await world.pass(10 * MIN, [TICK_MS]);
    expect(world.watch.leftMs).toBe(50 * MIN);
    world.clock = START + 600 * MIN; // this browser's clock is wrong by ten hours
    world.watch.applyFacts(session(60));
    expect(world.watch.leftMs).toBe(60 * MIN);
  });

  it('keeps its last state while the portal does not answer', async () => {
    world.facts = new Refusal('Away.', 502);
    await world.pass(MIN);
    expect(world.watch.problem).toBe('Away.');
    expect(world.watch.facts?.session.name).toBe('s1');
    world.facts = session(70);
    await world.pass(MIN);
    expect(world.watch.problem).toBeNull();
  });

  it('ignores responses older than the last action', async () => {
    const old = { facts: session(10), problem: null, use: world.watch.use, kept: false };
    let answer: (news: News) => void = () => {};
    world.news = () => new Promise((resolve) => (answer = resolve));
    const refreshing = world.watch.refresh();
    world.watch.applyFacts(session(120));
    world.watch.keep();
    answer(old);
    await refreshing;
    expect([world.watch.leftMs, world.watch.kept]).toEqual([120 * MIN, true]);
    expect(world.notifications).toEqual([]);
  });

  it('stops polling if the server has no session', async () => {
    world.facts = new Refusal('Not found', 404);
    await world.pass(MIN);
    const { requestCount } = world;
    await world.pass(MIN);
    expect(world.requestCount).toBe(requestCount);
  });

  it('polls from a hidden page only near the end', async () => {
    world.isHidden = true;
    const { requestCount } = world;
    await world.pass(MIN);
    expect(world.requestCount).toBe(requestCount);
    await world.pass(50 * MIN);
    expect(world.requestCount).toBe(requestCount + 1);
  });
});

describe('the warning', () => {
  it('comes twice, offers more time, and closes after an extension', async () => {
    await world.pass(46 * MIN, [TICK_MS]);
    await world.pass(MIN, [TICK_MS]);
    expect(world.notifications).toHaveLength(1);
    expect(world.notifications[0]).toContain('ends in 14 min');
    await world.pass(9 * MIN, [TICK_MS]);
    expect(world.notifications).toHaveLength(2);
    expect(world.dismissed).toEqual(['id-1']);
    expect(world.actions.map(({ label }) => label)).toEqual(['Extend by 1 Hour']);
    world.answer = { ...session(120), now: new Date(world.clock).toISOString() };
    world.actions[0]?.callback();
    await world.pass(0, []);
    expect(world.extended).toEqual([60]);
    expect(world.dismissed).toEqual(['id-1', 'id-2']);
    expect(world.notifications[2]).toMatch(/^success: This session now ends at/);
    await world.pass(MIN, [TICK_MS]);
    expect(world.notifications).toHaveLength(3);
  });

  it('offers no extension if none is possible', async () => {
    world.watch.applyFacts(session(10, 0, 'That is all.'));
    expect(world.notifications).toHaveLength(1);
    expect(world.actions).toEqual([]);
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
    world.actions.find((action) => action.label === label)?.callback();

  it('shows the duration and the held resources once', async () => {
    world.facts = idle(START - 60 * MIN);
    await world.pass(0);
    expect(world.notifications).toEqual([
      'Nothing has run here for 1 h. The session holds 1 GPU and 4 CPUs that others could use.',
    ]);
    await world.pass(5 * MIN);
    expect(world.notifications).toHaveLength(1);
    runAction('Stop Session…');
    expect(world.opened).toEqual(['p:/s?stop=true']);
  });

  it('omits GPUs that the session doesn’t have', async () => {
    world.facts = idle(START - 60 * MIN, 0);
    await world.pass(0);
    expect(world.notifications[0]).toContain('The session holds 4 CPUs that');
  });

  it('closes once something runs, and returns for the next idle period', async () => {
    world.facts = idle(START - 60 * MIN);
    await world.pass(0);
    world.facts = session(600);
    await world.pass(0);
    expect(world.dismissed).toEqual(['id-1']);
    world.facts = idle(START - 30 * MIN);
    await world.pass(0);
    expect(world.notifications).toHaveLength(2);
  });

  it('is answered for every tab, until the next idle period', async () => {
    world.facts = idle(START - 60 * MIN);
    await world.pass(0);
    runAction('Keep It');
    await world.pass(MIN);
    expect([world.kept, world.dismissed]).toEqual([true, ['id-1']]);
    const other = new World();
    [other.kept, other.facts] = [true, world.facts];
    other.watch.start();
    await other.pass(MIN);
    expect(other.notifications).toEqual([]);
    [world.kept, world.facts] = [false, idle(START)];
    await world.pass(60 * MIN);
    expect(world.notifications).toHaveLength(2);
  });

  it('reports that the answer was not saved, and stays closed here', async () => {
    world.facts = idle(START - 60 * MIN);
    world.answer = new Refusal('Away.', 502);
    await world.pass(0);
    runAction('Keep It');
    await world.pass(MIN);
    expect(world.notifications.slice(1)).toEqual(['error: Away.']);
  });
});

describe("the user's actions", () => {
  const panel = (path: string, over: object = {}, kernel: string | null = 'r') =>
    notebookPanel({ path, ...over }, kernel);

  it('reports why there is no more time, and sends one request for two clicks', async () => {
    world.answer = new Refusal('node01 is kept for maintenance.', 422);
    await Promise.all([world.acts.extend(60), world.acts.extend(60)]);
    expect(world.extended).toEqual([60]);
    expect(world.notifications).toEqual(['error: node01 is kept for maintenance.']);
  });

  it("opens TensorBoard's page at the click, and reports errors", async () => {
    world.answer = new Refusal('Away.', 502);
    await world.acts.tensorboard();
    expect(world.opened).toEqual(['p:/t']);
    expect(world.notifications).toEqual(['error: Away.']);
  });

  it('saves a notebook and opens the form with its kernel', async () => {
    let saved = 0;
    const save = async () => {
      saved += 1;
    };
    await world.acts.runNotebook(panel('a/b.ipynb', { model: { dirty: true }, save }));
    expect(saved).toBe(1);
    expect(world.opened[0]).toMatch(/^p:\/run\?template=notebook&environment=r&/);
    await world.acts.runNotebook(panel('c.ipynb', {}, null));
    expect(world.opened[1]).toContain('environment=python3');
  });

  it('opens no form for notebooks that are unsaved or outside of the home', async () => {
    const save = () => Promise.reject(new Error('full'));
    await world.acts.runNotebook(panel('a.ipynb', { model: { dirty: true }, save }));
    expect(world.opened).toEqual(['closed']);
    await world.acts.runNotebook(panel('RTC:a.ipynb'));
    await world.acts.runNotebook(null);
    expect(world.opened).toEqual(['closed']);
    expect(world.notifications[0]).toContain('could not be saved');
    expect(world.notifications[1]).toContain('in your home');
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
    addCommands(commands, world.watch, world.acts, undefined);
    fillMenu(menu, commands, world.watch, world.acts);
    const last = added.get(items.at(-1)?.command ?? '');
    expect(last?.label).toBe('Stop Session…');
    last?.execute({});
    expect(world.opened).toEqual(['p:/s?stop=true']);
  });

  it('opens a terminal in the environment that the File menu names', async () => {
    addCommands(commands, world.watch, world.acts, undefined);
    const { label, execute } = added.get(TERMINAL) ?? {};
    const args = { name: 'env_r', title: 'R 4.2' };
    expect(typeof label === 'function' ? label(args) : label).toBe('R 4.2');
    await execute?.(args);
    expect(executed).toEqual([['terminal:create-new', { name: 'env_r' }]]);
  });

  it('offers possible extensions, or shows why there are none', async () => {
    addCommands(commands, world.watch, world.acts, undefined);
    fillMenu(menu, commands, world.watch, world.acts);
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
    world.watch.applyFacts(session(60, 25));
    expect(offered().map(({ args }) => label(args))).toEqual(['Extend by 25 Minutes']);
    world.watch.applyFacts(session(60, 0, 'Partition cpu allows at most 4 hours.'));
    expect(offered().map(({ args }) => label(args))).toEqual([
      "Can't Be Extended: Partition cpu allows at most 4 hours.",
    ]);
    expect(added.get(EXTEND)?.isEnabled?.({})).toBe(false);
    await added.get(EXTEND)?.execute({});
    expect(world.extended).toEqual([]);
  });
});
