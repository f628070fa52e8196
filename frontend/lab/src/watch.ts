/** The state of the session, refreshed while the page is visible. */
import type { Facts, News, Use } from './facts';
import { Refusal, type Server } from './server';
import { clockOffset } from './time';

export const ASK_EVERY_MS = 20_000;
export const TICK_MS = 1000;
const NO_USE: Use = { memory: null, gpus: null };
const NOT_HERE = 404;

/** The page and its clock, as far as they matter here. */
export interface Surroundings {
  now: () => number;
  every: (ms: number, act: () => void) => void;
  hidden: () => boolean;
  onShown: (act: () => void) => void;
}

export class Watch {
  facts: Facts | null = null;
  problem: string | null = null;
  use: Use = NO_USE;
  kept = false;
  /** The server knows of no session: an older program, or JupyterLab without the portal. */
  absent = false;
  #offset = 0;
  #asking = false;
  /** How often something was done here: an answer to an older question doesn't know of it. */
  #done = 0;
  #listeners: (() => void)[] = [];

  constructor(
    readonly server: Server,
    readonly around: Surroundings,
  ) {}

  /** `listener` is called whenever something may have to be shown differently: each second too. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  start(): void {
    this.around.every(ASK_EVERY_MS, () => {
      if (!this.around.hidden() || this.#nearTheEnd()) void this.ask();
    });
    this.around.every(TICK_MS, () => this.#tell());
    this.around.onShown(() => void this.ask());
    void this.ask();
  }

  /** The portal's time, by this browser's clock. */
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

  async ask(): Promise<void> {
    if (this.#asking || this.absent) return;
    this.#asking = true;
    const before = this.#done;
    try {
      const news = await this.server.news();
      this.use = news.use;
      this.problem = news.problem;
      if (before === this.#done) this.#believe(news);
    } catch (error) {
      this.absent = error instanceof Refusal && error.status === NOT_HERE;
      this.problem = error instanceof Error ? error.message : null;
    } finally {
      this.#asking = false;
    }
    this.#tell();
  }

  /** Take over the portal's answer to an action of this page. */
  take(facts: Facts): void {
    this.#done += 1;
    this.#know(facts);
    this.#tell();
  }

  /** Its owner wants it to go on; until the server says that it has run something again. */
  keep(): void {
    this.#done += 1;
    this.kept = true;
    this.#tell();
  }

  /** The last known stays while the portal is silent. */
  #believe({ kept, facts }: News): void {
    this.kept = kept;
    if (facts) this.#know(facts);
  }

  #know(facts: Facts): void {
    this.facts = facts;
    this.#offset = clockOffset(facts.now, this.around.now());
  }

  /** A hidden page also warns, and must know about an extension made in another tab. */
  #nearTheEnd(): boolean {
    return this.leftMs !== null && this.leftMs < 20 * 60_000;
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

export const browser: Surroundings = {
  now: () => Date.now(),
  every: (ms, act) => void window.setInterval(act, ms),
  hidden: () => document.visibilityState === 'hidden',
  onShown: (act) => document.addEventListener('visibilitychange', () => document.hidden || act()),
};
