import { beforeEach, describe, expect, it } from 'vitest';
import { Acts, type Tabs } from './acts';
import { addCommands, EXTEND, fillMenu } from './commands';
import { chosen, makeContainer, newer, type Scope } from './container';
import type { Facts, News } from './facts';
import type { CommandArgs, Commands, Menu, NotebookPanel, Notifications } from './jupyter';
import { Refusal, type Server, serverOf } from './server';
import { ASK_EVERY_MS, type Surroundings, TICK_MS, Watch } from './watch';

const MIN = 60_000;
const START = Date.UTC(2026, 10, 22, 10);

/** A session that ends in `minutes`, of which `more` can be added. */
function session(minutes: number, more = 240, reason: string | null = null): Facts {
  return {
    now: new Date(START).toISOString(),
    session: {
      name: 's1',
      node: 'node01',
      environment: 'python3',
      resources: {
        partition: null,
        nodes: 1,
        gpus: 0,
        gpu_type: null,
        cpus: 1,
        memory_gb: null,
        time_limit_minutes: null,
        account: null,
        qos: null,
      },
      state: 'running',
      expires_at: new Date(START + minutes * MIN).toISOString(),
      extension: { minutes: more, reason },
    },
    pages: { home: 'p:/', tensorboard: 'p:/t', run_notebook: 'p:/run' },
  };
}

class World implements Surroundings, Server, Tabs {
  clock = START;
  facts: Facts | Refusal = session(60);
  extended: number[] = [];
  answer: Facts | Refusal = session(120);
  opened: string[] = [];
  said: string[] = [];
  actions: { label: string; callback: () => void }[] = [];
  dismissed: string[] = [];
  isHidden = false;
  asked = 0;
  #timers: [number, () => void][] = [];

  watch = new Watch(this, this);
  notify: Notifications = {
    warning: (text, options) => {
      this.actions = options?.actions ?? [];
      return `id-${this.said.push(text)}`;
    },
    error: (text) => `id-${this.said.push(`error: ${text}`)}`,
    success: (text) => `id-${this.said.push(`success: ${text}`)}`,
    dismiss: (id) => void this.dismissed.push(id ?? ''),
  };
  contents = {
    driveName: (path: string) => (path.includes(':') ? (path.split(':')[0] ?? '') : ''),
    localPath: (path: string) => path.split(':').pop() ?? '',
  };
  acts = new Acts(this.watch, this.notify, this.contents, this);

  now = () => this.clock;
  every = (ms: number, act: () => void) => void this.#timers.push([ms, act]);
  hidden = () => this.isHidden;
  onShown = () => {};
  async news(): Promise<News> {
    this.asked += 1;
    if (this.facts instanceof Refusal) throw this.facts;
    return { facts: this.facts, problem: null, use: { memory: null, gpus: null } };
  }
  async extend(minutes: number): Promise<Facts> {
    this.extended.push(minutes);
    if (this.answer instanceof Refusal) throw this.answer;
    return this.answer;
  }
  async startTensorboard(): Promise<void> {
    if (this.answer instanceof Refusal) throw this.answer;
  }
  open = (url: string) => void this.opened.push(url);
  ahead = () => ({ go: this.open, close: () => this.open('closed') });

  /** Time passes for the page: `which` are its timers that come due. */
  async pass(ms: number, which = [TICK_MS, ASK_EVERY_MS]): Promise<void> {
    this.clock += ms;
    for (const [every, act] of this.#timers) if (which.includes(every)) act();
    await Promise.resolve();
    await Promise.resolve();
  }
}

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
    world.watch.take(session(60));
    expect(world.watch.leftMs).toBe(60 * MIN);
  });

  it('keeps what it knew while nobody answers', async () => {
    world.facts = new Refusal('Away.', 502);
    await world.pass(MIN);
    expect(world.watch.problem).toBe('Away.');
    expect(world.watch.facts?.session.name).toBe('s1');
    world.facts = session(70);
    await world.pass(MIN);
    expect(world.watch.problem).toBeNull();
  });

  it('asks no more where the server knows of no session', async () => {
    world.facts = new Refusal('Not found', 404);
    await world.pass(MIN);
    const { asked } = world;
    await world.pass(MIN);
    expect(world.asked).toBe(asked);
  });

  it('asks from a hidden page only near the end', async () => {
    world.isHidden = true;
    const { asked } = world;
    await world.pass(MIN);
    expect(world.asked).toBe(asked);
    await world.pass(50 * MIN);
    expect(world.asked).toBe(asked + 1);
  });
});

describe('the warning', () => {
  it('comes twice, offers more time, and goes once there is', async () => {
    await world.pass(46 * MIN, [TICK_MS]);
    await world.pass(MIN, [TICK_MS]);
    expect(world.said).toHaveLength(1);
    expect(world.said[0]).toContain('ends in 14 min');
    await world.pass(9 * MIN, [TICK_MS]);
    expect(world.said).toHaveLength(2);
    expect(world.dismissed).toEqual(['id-1']);
    expect(world.actions.map(({ label }) => label)).toEqual(['Extend by 1 Hour']);
    world.answer = { ...session(120), now: new Date(world.clock).toISOString() };
    world.actions[0]?.callback();
    await world.pass(0, []);
    expect(world.extended).toEqual([60]);
    expect(world.dismissed).toEqual(['id-1', 'id-2']);
    expect(world.said[2]).toMatch(/^success: This session now ends at/);
    await world.pass(MIN, [TICK_MS]);
    expect(world.said).toHaveLength(3);
  });

  it('offers nothing that can’t be had', async () => {
    world.watch.take(session(10, 0, 'That is all.'));
    expect(world.said).toHaveLength(1);
    expect(world.actions).toEqual([]);
  });
});

describe('what people do', () => {
  const panel = (path: string, over: object = {}, kernel: string | null = 'r'): NotebookPanel => ({
    sessionContext: {
      kernelPreference: {},
      session: kernel === null ? null : { kernel: { name: kernel } },
    },
    context: { path, model: { dirty: false }, save: async () => {}, ...over },
  });

  it('tells why there is no more time, and asks once for two clicks', async () => {
    world.answer = new Refusal('node01 is kept for maintenance.', 422);
    await Promise.all([world.acts.extend(60), world.acts.extend(60)]);
    expect(world.extended).toEqual([60]);
    expect(world.said).toEqual(['error: node01 is kept for maintenance.']);
  });

  it('opens TensorBoard’s page at the click, and tells what holds it up', async () => {
    world.answer = new Refusal('Away.', 502);
    await world.acts.tensorboard();
    expect(world.opened).toEqual(['p:/t']);
    expect(world.said).toEqual(['error: Away.']);
  });

  it('hands a notebook over with its kernel, saved', async () => {
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

  it('hands nothing over that could not be saved or isn’t at home', async () => {
    const save = () => Promise.reject(new Error('full'));
    await world.acts.runNotebook(panel('a.ipynb', { model: { dirty: true }, save }));
    expect(world.opened).toEqual(['closed']);
    await world.acts.runNotebook(panel('RTC:a.ipynb'));
    await world.acts.runNotebook(null);
    expect(world.opened).toEqual(['closed']);
    expect(world.said[0]).toContain('could not be saved');
    expect(world.said[1]).toContain('in your home');
  });
});

describe('the menu', () => {
  type Options = Parameters<Commands['addCommand']>[1];

  it('offers what can be added, or says why nothing can', async () => {
    const added = new Map<string, Options>();
    const commands: Commands = {
      addCommand: (id, options) => void added.set(id, options),
      notifyCommandChanged: () => {},
    };
    let items: { command?: string; args?: CommandArgs }[] = [];
    const menu: Menu = {
      title: { label: '' },
      aboutToClose: { connect: () => true },
      addItem: (item) => void items.push(item),
      clearItems: () => {
        items = [];
      },
      open: () => {},
    };
    addCommands(commands, world.watch, world.acts, undefined);
    fillMenu(menu, commands, world.watch, world.acts);
    const label = (args: CommandArgs = {}) => {
      const found = added.get(EXTEND)?.label;
      return typeof found === 'function' ? found(args) : found;
    };
    const offered = () => items.filter(({ command }) => command === EXTEND);
    expect(offered().map(({ args }) => label(args))).toEqual([
      'Extend by 1 Hour',
      'Extend by 2 Hours',
      'Extend by 4 Hours',
    ]);
    world.watch.take(session(60, 25));
    expect(offered().map(({ args }) => label(args))).toEqual(['Extend by 25 Minutes']);
    world.watch.take(session(60, 0, 'Partition cpu allows at most 4 hours.'));
    expect(offered().map(({ args }) => label(args))).toEqual([
      "Can't Be Extended: Partition cpu allows at most 4 hours.",
    ]);
    expect(added.get(EXTEND)?.isEnabled?.({})).toBe(false);
    await added.get(EXTEND)?.execute({});
    expect(world.extended).toEqual([]);
  });
});

describe('the server of this page', () => {
  const settings = { baseUrl: '/user/alice/s1/' };
  const answering = (answer: Response | Error, seen: unknown[] = []) =>
    serverOf(
      {
        makeRequest: async (url, init) => {
          seen.push([url, init]);
          if (answer instanceof Error) throw answer;
          return answer;
        },
      },
      settings,
    );

  it('is asked below its own address', async () => {
    const seen: unknown[] = [];
    await answering(Response.json(session(5)), seen).extend(30);
    const init = { method: 'POST', body: '{"minutes":30}' };
    expect(seen).toEqual([['/user/alice/s1/portal/session/extend', init]]);
  });

  it.each([
    [Response.json({ message: 'Too much.' }, { status: 422 }), 'Too much.'],
    [new Response('<html>', { status: 502 }), 'could not be asked'],
    [Response.json(['no'], { status: 500 }), 'could not be asked'],
    [new Error('network'), 'could not be asked'],
  ])('has its refusals told', async (answer, words) => {
    await expect(answering(answer).news()).rejects.toThrow(words);
  });
});

describe('the container', () => {
  const version = (name: string, loaded = false) => ({ get: async () => () => name, loaded });

  it('takes the copy that everybody uses', async () => {
    const found = async (versions: Scope[string]) => (await chosen(versions)?.get())?.();
    const [a, b] = [version('a'), version('b')];
    expect(await found({ '4.10.0': a, '4.9.2': b })).toBe('a');
    expect(await found({ '4.10.0': a, '4.9.2': version('b', true) })).toBe('b');
    expect(await found(undefined)).toBeUndefined();
    expect([newer('4.10.0', '4.9.2'), newer('4.9.2', '4.9.2')]).toEqual([true, false]);
  });

  it('makes a plugin of what there is', async () => {
    const container = makeContainer(['@jupyterlab/statusbar', '@jupyterlab/notebook']);
    const scope = { '4.6.6': { get: async () => () => ({ IStatusBar: 'token' }) } };
    container.init({ '@jupyterlab/statusbar': scope });
    const module = (await container.get('./extension'))() as {
      __esModule: boolean;
      default: { id: string; optional: unknown[] };
    };
    expect(module.default.id).toBe('data-scientist-portal:session');
    expect(module.default.optional).toEqual(['token']);
    expect(Object.hasOwn(module, '__esModule')).toBe(true);
    await expect(container.get('./style')).rejects.toThrow('has no ./style');
  });
});
