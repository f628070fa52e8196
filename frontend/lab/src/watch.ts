/** The state of the session, refreshed while the page is visible. */
import type { Facts, News, Use } from './facts';
import { Refusal, type Server } from './server';
import { clockOffset } from './time';

export const ASK_EVERY_MS = 20_000;
export const TICK_MS = 1000;
const NO_USE: Use = { memory: null, gpus: null };
const NOT_HERE = 404;

/** The parts of the browser that are used here: the page, its clock and timers. */
export interface Surroundings {
  now: () => number;
  every: (ms: number, callback: () => void) => void;
  hidden: () => boolean;
  onShown: (callback: () => void) => void;
}

export class Watch {
  facts: Facts | null = null;
  problem: string | null = null;
  use: Use = NO_USE;
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
    readonly around: Surroundings,
  ) {}

  /** Register a listener for changes of what is displayed, including each second of the clock. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  start(): void {
    this.around.every(ASK_EVERY_MS, () => {
      if (!this.around.hidden() || this.#nearTheEnd()) void this.refresh();
    });
    this.around.every(TICK_MS, () => this.#emit());
    this.around.onShown(() => void this.refresh());
    void this.refresh();
  }

  /** The portal's time, estimated from this browser's clock. */
  get nowMs(): number {
    return this.around.now() + this.#offset;
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
      const news = await this.server.news();
      this.use = news.use;
      this.problem = news.problem;
      if (before === this.#done) this.#applyNews(news);
    } catch (error) {
      this.absent = error instanceof Refusal && error.status === NOT_HERE;
      this.problem = error instanceof Error ? error.message : null;
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
  #applyNews({ kept, facts }: News): void {
    this.kept = kept;
    if (facts) this.#setFacts(facts);
  }

  #setFacts(facts: Facts): void {
    this.facts = facts;
    this.#offset = clockOffset(facts.now, this.around.now());
  }

  /** A hidden page also warns, and must know about an extension made in another tab. */
  #nearTheEnd(): boolean {
    return this.leftMs !== null && this.leftMs < 20 * 60_000;
  }

  #emit(): void {
    for (const listener of this.#listeners) listener();
  }
}

export const browser: Surroundings = {
  now: () => Date.now(),
  every: (ms, callback) => void window.setInterval(callback, ms),
  hidden: () => document.visibilityState === 'hidden',
  onShown: (callback) =>
    document.addEventListener('visibilitychange', () => document.hidden || callback()),
};
