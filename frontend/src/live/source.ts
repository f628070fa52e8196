/** The event stream: opens it, reconnects when it breaks, and stops when the login has ended. */
import { api, unwrap } from '@/api/client';
import { hasLoginEnded } from '@/api/lostLogin';
import { ApiError } from '@/api/problem';
import { EVENT_NAMES, retryDelay, toLiveEvent } from './events';
import type { LiveEvent } from './reducer';

const STREAM_URL = '/api/v1/events';
const ME_URL = '/api/v1/me';
/** The portal sends something every 15 seconds. A connection that is silent for this long is dead,
 * without an error: the laptop slept, or the network changed. */
const SILENCE_MS = 45_000;
/** The timeout of the request that checks whether the login is still valid. */
const ANSWER_MS = 10_000;
/** A page hidden for longer may have missed the stream's end while the device slept. */
const DISTRUST_AFTER_HIDDEN_MS = 30_000;

async function loginEnded(): Promise<boolean> {
  try {
    const answer = await fetch(ME_URL, { signal: AbortSignal.timeout(ANSWER_MS) });
    return await hasLoginEnded(answer.url, answer);
  } catch {
    return false; // no response: reconnect later
  }
}

class Source {
  private stream: EventSource | null = null;
  private timer: number | undefined;
  private watchdog: number | undefined;
  private attempt = 0;
  private hiddenAt: number | null = null;
  private closed = false;

  constructor(private readonly emit: (event: LiveEvent) => void) {
    window.addEventListener('online', this.reopen);
    window.addEventListener('offline', this.onOffline);
    document.addEventListener('visibilitychange', this.onVisibility);
    this.open();
  }

  close = (): void => {
    this.closed = true;
    window.removeEventListener('online', this.reopen);
    window.removeEventListener('offline', this.onOffline);
    document.removeEventListener('visibilitychange', this.onVisibility);
    window.clearTimeout(this.timer);
    window.clearTimeout(this.watchdog);
    this.stream?.close();
  };

  /** Reconnect at once instead of after the delay. */
  reopen = (): void => {
    if (this.closed) return;
    window.clearTimeout(this.timer);
    this.stream?.close();
    this.attempt = 0;
    this.open();
  };

  private open(): void {
    const stream = new EventSource(STREAM_URL);
    this.stream = stream;
    this.restartWatchdog();
    stream.addEventListener('ping', this.restartWatchdog);
    for (const name of EVENT_NAMES) {
      stream.addEventListener(name, (message: MessageEvent<string>) => {
        const event = toLiveEvent(name, message.data);
        if (event === null) return;
        this.restartWatchdog();
        this.attempt = 0;
        this.emit(event);
      });
    }
    stream.onerror = () => {
      if (this.stream === stream) this.lose();
    };
  }

  private restartWatchdog = (): void => {
    window.clearTimeout(this.watchdog);
    this.watchdog = window.setTimeout(this.lose, SILENCE_MS);
  };

  private lose = (): void => {
    this.stream?.close();
    window.clearTimeout(this.timer);
    window.clearTimeout(this.watchdog);
    if (this.closed) return;
    const delay = retryDelay(this.attempt++, Math.random());
    this.emit({ kind: 'link', link: 'lost', retryAt: Date.now() + delay });
    this.timer = window.setTimeout(this.tryAgain, delay);
  };

  /** EventSource hides the status, so check with an ordinary request whether the login is still
   * valid. */
  private tryAgain = async (): Promise<void> => {
    if (await loginEnded()) {
      this.emit({ kind: 'link', link: 'ended', retryAt: null });
      try {
        await unwrap(api.GET('/api/v1/me')); // waits until the same user has logged in again
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) return this.close();
      }
    }
    if (!this.closed) this.open();
  };

  /** The browser is offline: the stream is lost, though it may not report that for minutes. */
  private onOffline = (): void => this.lose();

  private onVisibility = (): void => {
    if (document.hidden) {
      this.hiddenAt = Date.now();
      return;
    }
    const hiddenFor = this.hiddenAt === null ? 0 : Date.now() - this.hiddenAt;
    this.hiddenAt = null;
    if (hiddenFor > DISTRUST_AFTER_HIDDEN_MS) this.reopen();
  };
}

export interface OpenSource {
  close: () => void;
  /** reconnects at once instead of after the delay */
  reopen: () => void;
}

export const openSource = (emit: (event: LiveEvent) => void): OpenSource => new Source(emit);
