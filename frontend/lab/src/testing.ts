/** A session and a page that shows it, for tests: its clock, server, messages and opened tabs. */
import { Actions, type Tabs } from './actions';
import type { Facts, FramedTensorboard, LogEnd, News, SessionJob, SessionJobs } from './facts';
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

/** A running job; `over` replaces fields. */
export const job = (id: string, over: Partial<SessionJob> = {}): SessionJob => ({
  id,
  name: `job-${id}`,
  state: 'running',
  outcome: null,
  submitted_at: new Date(START - 20 * MIN).toISOString(),
  started_at: new Date(START - 12 * MIN).toISOString(),
  ended_at: null,
  array_size: null,
  page: `p:/jobs/${id}`,
  notebook: null,
  path: null,
  ...over,
});

/** A job that ended `minutes` after the start. */
export const endedJob = (id: string, minutes: number, over: Partial<SessionJob> = {}): SessionJob =>
  job(id, {
    state: 'ended',
    outcome: 'completed',
    ended_at: new Date(START + minutes * MIN).toISOString(),
    ...over,
  });

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
  requestCount = 0;
  files: string[] = [];
  ownJobs: SessionJob[] | Refusal = [];
  cancelled: string[] = [];
  log: LogEnd | Refusal = { text: 'step 1\rstep 2\n', cut: false };
  #timers: [number, () => void][] = [];

  watch = new Watch(this, this);
  notify: Notifications = {
    warning: (text, options) => {
      this.actions = options?.actions ?? [];
      return `id-${this.notifications.push(text)}`;
    },
    error: (text, options) => {
      this.actions = options?.actions ?? this.actions;
      return `id-${this.notifications.push(`error: ${text}`)}`;
    },
    success: (text, options) => {
      this.actions = options?.actions ?? [];
      return `id-${this.notifications.push(`success: ${text}`)}`;
    },
    info: (text, options) => {
      this.actions = options?.actions ?? [];
      return `id-${this.notifications.push(`info: ${text}`)}`;
    },
    dismiss: (id) => void this.dismissed.push(id ?? ''),
  };
  contents = {
    driveName: (path: string) => (path.includes(':') ? (path.split(':')[0] ?? '') : ''),
    localPath: (path: string) => path.split(':').pop() ?? '',
    get: async (path: string) => {
      if (!this.files.includes(path)) throw new Error('no such file');
    },
  };
  acts = new Actions(this.watch, this.notify, this.contents, this);
  idle = new IdleWarning(this.watch, this.acts, this.notify);

  now = () => this.clock;
  every = (ms: number, callback: () => void) => void this.#timers.push([ms, callback]);
  hidden = () => this.isHidden;
  onShown = () => {};
  async news(): Promise<News> {
    this.requestCount += 1;
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
  async usage() {
    return {
      ages_s: [1200, 600, 10],
      memory_mb: [512, 1024, 2048],
      memory_limit_mb: 4096,
      gpus: null,
    };
  }
  async jobs(): Promise<SessionJobs> {
    if (this.ownJobs instanceof Refusal) throw this.ownJobs;
    return { now: new Date(this.clock).toISOString(), jobs: this.ownJobs };
  }
  async logEnd(): Promise<LogEnd> {
    if (this.log instanceof Refusal) throw this.log;
    return this.log;
  }
  async cancelJob(id: string): Promise<void> {
    if (this.answer instanceof Refusal) throw this.answer;
    this.cancelled.push(id);
  }
  open = (url: string) => void this.opened.push(url);
  ahead = () => ({ go: this.open, close: () => this.open('closed') });

  /** Advance the page's clock by `ms`; `timers` lists those that fire. */
  async pass(ms: number, timers = [TICK_MS, ASK_EVERY_MS]): Promise<void> {
    this.clock += ms;
    for (const [every, callback] of this.#timers) if (timers.includes(every)) callback();
    await Promise.resolve();
    await Promise.resolve();
  }
}
