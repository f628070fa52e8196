/** A session and the page that shows it, for tests: its clock, its server, what it says and opens. */
import { Actions, type Tabs } from './actions';
import type { Facts, FramedTensorboard, News } from './facts';
import { IdleWarning } from './idle';
import type { Notifications } from './jupyter';
import { Refusal, type Server } from './server';
import { ASK_EVERY_MS, type Surroundings, TICK_MS, Watch } from './watch';

export const MIN = 60_000;
export const START = Date.UTC(2026, 10, 22, 10);

/** A session that ends in `minutes`, of which `more` can be added. */
export function session(minutes: number, more = 240, reason: string | null = null): Facts {
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
      idle_since: null,
    },
    pages: {
      session: 'p:/s',
      tensorboard: 'p:/t',
      run_notebook: 'p:/run',
      start_again: 'p:/again',
    },
  };
}

export class World implements Surroundings, Server, Tabs {
  clock = START;
  facts: Facts | Refusal = session(60);
  extended: number[] = [];
  answer: Facts | Refusal = session(120);
  opened: string[] = [];
  requests: unknown[] = [];
  notifications: string[] = [];
  actions: { label: string; callback: () => void }[] = [];
  dismissed: string[] = [];
  isHidden = false;
  kept = false;
  asked = 0;
  #timers: [number, () => void][] = [];

  watch = new Watch(this, this);
  notify: Notifications = {
    warning: (text, options) => {
      this.actions = options?.actions ?? [];
      return `id-${this.notifications.push(text)}`;
    },
    error: (text) => `id-${this.notifications.push(`error: ${text}`)}`,
    success: (text) => `id-${this.notifications.push(`success: ${text}`)}`,
    dismiss: (id) => void this.dismissed.push(id ?? ''),
  };
  contents = {
    driveName: (path: string) => (path.includes(':') ? (path.split(':')[0] ?? '') : ''),
    localPath: (path: string) => path.split(':').pop() ?? '',
  };
  acts = new Actions(this.watch, this.notify, this.contents, this);
  idle = new IdleWarning(this.watch, this.acts, this.notify);

  now = () => this.clock;
  every = (ms: number, act: () => void) => void this.#timers.push([ms, act]);
  hidden = () => this.isHidden;
  onShown = () => {};
  async news(): Promise<News> {
    this.asked += 1;
    if (this.facts instanceof Refusal) throw this.facts;
    const use = { memory: null, gpus: null };
    return { facts: this.facts, problem: null, use, kept: this.kept };
  }
  async extend(minutes: number): Promise<Facts> {
    this.extended.push(minutes);
    if (this.answer instanceof Refusal) throw this.answer;
    return this.answer;
  }
  async startTensorboard(request?: object): Promise<FramedTensorboard> {
    this.requests.push(request);
    if (this.answer instanceof Refusal) throw this.answer;
    return { logdir: '/home/alice/runs', frame_url: 'https://boards/tensorboard/1/ticket/' };
  }
  async keep(): Promise<void> {
    if (this.answer instanceof Refusal) throw this.answer;
    this.kept = true;
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
