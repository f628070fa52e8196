/** A session and a page that shows it, for tests: its clock, server, messages and opened tabs. */
import { Actions, type Tabs } from './actions';
import type {
  Executions,
  Facts,
  FramedTensorboard,
  LogEnd,
  SessionApp,
  SessionJob,
  SessionJobs,
  SessionUpdate,
} from './facts';
import { IdleWarning } from './idle';
import type { CellOutput, KernelMessage, Notifications } from './jupyter';
import { RequestError, type Server } from './server';
import { ASK_EVERY_MS, type BrowserApi, SessionWatch, TICK_MS } from './watch';

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

/** A signal that a test emits. */
export class TestSignal<T> {
  #slots: ((sender: unknown, args: T) => void)[] = [];
  connect(slot: (sender: unknown, args: T) => void): boolean {
    this.#slots.push(slot);
    return true;
  }
  emit(args: T): void {
    for (const slot of this.#slots) slot(null, args);
  }
}

/** A code cell, whose outputs behave like JupyterLab's. */
export function codeCell(id: string) {
  const shown: CellOutput[] = [];
  const outputs = {
    shown,
    /** The number of times that all outputs were replaced. */
    replaced: 0,
    get length() {
      return shown.length;
    },
    add: (output: CellOutput) => shown.push(output),
    set: (index: number, output: CellOutput) => void shown.splice(index, 1, output),
    fromJSON: (all: CellOutput[]) => {
      outputs.replaced += 1;
      shown.splice(0, shown.length, ...all);
    },
  };
  const executionState: 'idle' | 'running' = 'idle';
  const future = {
    disposed: 0,
    dispose: () => {
      future.disposed += 1;
    },
  };
  const executionCount = null as number | null;
  const model = { id, type: 'code', trusted: false, executionCount, executionState, outputs };
  return { model, outputArea: { future } };
}

/** An open notebook; `over` replaces fields of its context. */
export function notebookPanel(
  over: object = {},
  kernel: string | null = 'r',
  cells: ReturnType<typeof codeCell>[] = [],
) {
  const context = {
    path: 'a.ipynb',
    canSave: true,
    ready: Promise.resolve(),
    model: { dirty: false, readOnly: false },
    saveState: new TestSignal<string>(),
    save: async () => {},
    ...over,
  };
  const sessionContext = {
    kernelPreference: {},
    session: kernel === null ? null : { kernel: { id: 'k1', clientId: 'page', name: kernel } },
    ready: Promise.resolve(),
    kernelChanged: new TestSignal<unknown>(),
    connectionStatusChanged: new TestSignal<string>(),
    iopubMessage: new TestSignal<KernelMessage>(),
  };
  return { content: { widgets: cells }, isDisposed: false, sessionContext, context };
}

export class FakePage implements BrowserApi, Server, Tabs {
  clock = START;
  facts: Facts | RequestError = session(60);
  extended: number[] = [];
  answer: Facts | RequestError = session(120);
  opened: string[] = [];
  requests: unknown[] = [];
  notifications: string[] = [];
  actions: { label: string; callback: () => void }[] = [];
  dismissed: string[] = [];
  isHidden = false;
  kept = false;
  requestCount = 0;
  files: string[] = [];
  ownJobs: SessionJob[] | RequestError = [];
  cancelled: string[] = [];
  executions: Executions = { version: 0, executions: [] };
  log: LogEnd | RequestError = { text: 'step 1\rstep 2\n', cut: false };
  #timers: [number, () => void][] = [];

  watch = new SessionWatch(this, this);
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
  async fetchUpdate(): Promise<SessionUpdate> {
    this.requestCount += 1;
    if (this.facts instanceof RequestError) throw this.facts;
    const use = { memory: null, gpus: null };
    return { facts: this.facts, problem: null, use, kept: this.kept };
  }
  async extend(minutes: number): Promise<Facts> {
    this.extended.push(minutes);
    if (this.answer instanceof RequestError) throw this.answer;
    return this.answer;
  }
  async startTensorboard(request?: object): Promise<FramedTensorboard> {
    this.requests.push(request);
    if (this.answer instanceof RequestError) throw this.answer;
    return { logdir: '/home/alice/runs', frame_url: 'https://boards/tensorboard/1/ticket/' };
  }
  async keep(): Promise<void> {
    if (this.answer instanceof RequestError) throw this.answer;
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
    if (this.ownJobs instanceof RequestError) throw this.ownJobs;
    return { now: new Date(this.clock).toISOString(), jobs: this.ownJobs };
  }
  async logEnd(): Promise<LogEnd> {
    if (this.log instanceof RequestError) throw this.log;
    return this.log;
  }
  async cancelJob(id: string): Promise<void> {
    if (this.answer instanceof RequestError) throw this.answer;
    this.cancelled.push(id);
  }
  async outputs(kernel: string, page: string, since: number): Promise<Executions> {
    this.requests.push([kernel, page, since]);
    return this.executions;
  }
  async forgetOutputs(kernel: string, cells: string[]): Promise<void> {
    this.requests.push([kernel, cells]);
  }
  offered: SessionApp[] = [];
  /** The successive states of an app that was started. */
  startedAs: Partial<SessionApp>[] = [{ state: 'running' }];
  permitsTabs = true;
  async apps(): Promise<SessionApp[]> {
    const [next, ...later] = this.startedAs;
    if (this.requests.length > 0 && next !== undefined) {
      this.startedAs = later.length > 0 ? later : [next];
      return this.offered.map((app) => ({ ...app, ...next }));
    }
    return this.offered;
  }
  async startApp(name: string, file: string | null, replace: boolean): Promise<void> {
    if (this.answer instanceof RequestError) throw this.answer;
    this.requests.push([replace ? 'replace' : 'start', name, file]);
  }
  attempt = (url: string): boolean => {
    if (this.permitsTabs) this.opened.push(url);
    return this.permitsTabs;
  };
  open = (url: string) => void this.opened.push(url);
  ahead = () => ({ go: this.open, close: () => this.open('closed') });

  /** Advance the page's clock by `ms`; `timers` lists those that fire. */
  async advance(ms: number, timers = [TICK_MS, ASK_EVERY_MS]): Promise<void> {
    this.clock += ms;
    for (const [every, callback] of this.#timers) if (timers.includes(every)) callback();
    await Promise.resolve();
    await Promise.resolve();
  }
}
