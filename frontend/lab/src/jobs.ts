/** The owner's jobs, refreshed while the page is visible, and the jobs that have just ended. */
import { translate } from '@/i18n/translate';
import type { SessionJob, SessionJobs } from './facts';
import { messages } from './messages';
import { RequestError, type Server } from './server';
import { duration } from './time';
import { ASK_EVERY_MS, type BrowserApi } from './watch';

const NOT_HERE = 404;

/** The jobs that have been listed since JupyterLab was opened, at `since` by the portal's clock. */
interface Seen {
  since: number;
  live: Set<string>;
  ended: Set<string>;
}

const ids = (jobs: SessionJob[], ended: boolean): string[] =>
  jobs.filter((job) => (job.state === 'ended') === ended).map((job) => job.id);

export class JobWatch {
  jobs: SessionJob[] | null = null;
  errorMessage: string | null = null;
  nowMs = 0;
  #seen: Seen | null = null;
  /** The session's server has no such list: it was started by an earlier version. */
  #absent = false;
  #requesting = false;
  #listeners: (() => void)[] = [];
  #endListeners: ((ended: SessionJob[]) => void)[] = [];

  constructor(
    readonly server: Server,
    readonly browser: BrowserApi,
  ) {}

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Register a listener for jobs that ended while JupyterLab was open; each is reported once. */
  onEnded(listener: (ended: SessionJob[]) => void): void {
    this.#endListeners.push(listener);
  }

  start(): void {
    this.browser.every(ASK_EVERY_MS, () => {
      if (!this.browser.hidden()) void this.refresh();
    });
    this.browser.onShown(() => void this.refresh());
    void this.refresh();
  }

  async refresh(): Promise<void> {
    if (this.#requesting || this.#absent) return;
    this.#requesting = true;
    try {
      this.#apply(await this.server.jobs());
    } catch (error) {
      this.#absent = error instanceof RequestError && error.status === NOT_HERE;
      this.errorMessage = this.#absent ? messages.jobsAbsent : errorMessage(error);
    } finally {
      this.#requesting = false;
    }
    for (const listener of this.#listeners) listener();
  }

  #apply({ jobs, now }: SessionJobs): void {
    this.jobs = jobs;
    this.errorMessage = null;
    this.nowMs = Date.parse(now);
    const seen = this.#seen ?? { since: this.nowMs, live: new Set(), ended: new Set() };
    const ended = jobs.filter((job) => hasJustEnded(job, seen));
    for (const id of ids(jobs, true)) seen.ended.add(id);
    this.#seen = { ...seen, live: new Set(ids(jobs, false)) };
    if (ended.length > 0) for (const listener of this.#endListeners) listener(ended);
  }
}

/** Return whether a job has ended since the last list. Its end may be before `since` by Slurm's
 * clock, or older jobs may move up in the list when others are removed. */
function hasJustEnded(job: SessionJob, seen: Seen): boolean {
  if (job.state !== 'ended' || seen.ended.has(job.id)) return false;
  return seen.live.has(job.id) || Date.parse(job.ended_at ?? '') > seen.since;
}

/** Return the message of an error, to be shown. */
export const errorMessage = (error: unknown): string =>
  error instanceof Error ? translate(error.message) : messages.noAnswer;

/** Format a job's state: "Running", "Timed out". */
export const stateText = ({ state, outcome }: SessionJob): string =>
  messages.jobStates[state === 'ended' ? (outcome ?? 'ended') : state] ?? state;

/** Format the time of a job: "for 12 min", "3 min ago". */
export function timeText(job: SessionJob, nowMs: number): string {
  if (job.ended_at !== null) return messages.ago(duration(nowMs - Date.parse(job.ended_at)));
  const since = job.started_at ?? job.submitted_at;
  return messages.lasting(duration(nowMs - Date.parse(since)));
}
