/** The state of the session, refreshed while the page is visible. */
import type { CurrentUsage, Facts, SessionUpdate } from './facts';
import { RequestError, type Server } from './server';
import { clockOffset } from './time';

export const ASK_EVERY_MS = 20_000;
export const TICK_MS = 1000;
const NO_USE: CurrentUsage = { memory: null, gpus: null };
const NOT_HERE = 404;

/** The parts of the browser that are used here: the page, its clock and timers. */
export interface BrowserApi {
  now: () => number;
  every: (ms: number, callback: () => void) => void;
  hidden: () => boolean;
  onShown: (callback: () => void) => void;
}

export class SessionWatch {
  facts: Facts | null = null;
  errorMessage: string | null = null;
  use: CurrentUsage = NO_USE;
  kept = false;
  /** The server has no session: an older program, or JupyterLab without the portal. */
  absent = false;
  #offset = 0;
  #requesting = false;
  /** The number of actions so far: a response to a request made before the last one is outdated. */
  #done = 0;
  #listeners: (() => void)[] = [];

  constructor(
    readonly server: Server,
    readonly browser: BrowserApi,
  ) {}

  /** Register a listener for changes of what is displayed, including each second of the clock. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  start(): void {
    this.browser.every(ASK_EVERY_MS, () => {
      if (!this.browser.hidden() || this.#nearTheEnd()) void this.refresh();
    });
    this.browser.every(TICK_MS, () => this.#emit());
    this.browser.onShown(() => void this.refresh());
    void this.refresh();
  }

  /** The portal's time, estimated from this browser's clock. */
  get nowMs(): number {
    return this.browser.now() + this.#offset;
  }

  /** Milliseconds until the session ends; null while that is not known. */
  get leftMs(): number | null {
    const end = Date.parse(this.facts?.session.expires_at ?? '');
    return Number.isNaN(end) ? null : end - this.nowMs;
  }

  /**
   * The start of the idle period, once it is long enough to warn a user who has not answered yet.
   */
  get idleSince(): string | null {
    return this.kept ? null : (this.facts?.session.idle_since ?? null);
  }

  async refresh(): Promise<void> {
    if (this.#requesting || this.absent) return;
    this.#requesting = true;
    const before = this.#done;
    try {
      const update = await this.server.fetchUpdate();
      this.use = update.use;
      this.errorMessage = update.problem;
      if (before === this.#done) this.#applyUpdate(update);
    } catch (error) {
      this.absent = error instanceof RequestError && error.status === NOT_HERE;
      this.errorMessage = error instanceof Error ? error.message : null;
    } finally {
      this.#requesting = false;
    }
    this.#emit();
  }

  /** Take over the portal's answer to an action of this page. */
  applyFacts(facts: Facts): void {
    this.#done += 1;
    this.#setFacts(facts);
    this.#emit();
  }

  /** Record that the owner keeps the session, until the server reports that it is busy again. */
  keep(): void {
    this.#done += 1;
    this.kept = true;
    this.#emit();
  }

  /** Apply the server's data. The last known data stays while the portal does not respond. */
  #applyUpdate({ kept, facts }: SessionUpdate): void {
    this.kept = kept;
    if (facts) this.#setFacts(facts);
  }

  #setFacts(facts: Facts): void {
    this.facts = facts;
    this.#offset = clockOffset(facts.now, this.browser.now());
  }

  /** A hidden page also warns, and must know about an extension made in another tab. */
  #nearTheEnd(): boolean {
    return this.leftMs !== null && this.leftMs < 20 * 60_000;
  }

  #emit(): void {
    for (const listener of this.#listeners) listener();
  }
}

export const browser: BrowserApi = {
  now: () => Date.now(),
  every: (ms, callback) => void window.setInterval(callback, ms),
  hidden: () => document.visibilityState === 'hidden',
  onShown: (callback) =>
    document.addEventListener('visibilitychange', () => document.hidden || callback()),
};
