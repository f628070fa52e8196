/** The event stream: opens it, opens it again when it breaks, and stops when the login has ended. */
import { api, unwrap } from '@/api/client';
import { saysLoginEnded } from '@/api/lostLogin';
import { ApiError } from '@/api/problem';
import { EVENT_NAMES, retryDelay, toLiveEvent } from './events';
import type { LiveEvent } from './reducer';

const STREAM_URL = '/api/v1/events';
const ME_URL = '/api/v1/me';
/** The portal says something every 15 seconds. A connection that is silent for so much longer is dead,
 * though nothing says so: a laptop that slept, a network that changed. */
const SILENCE_MS = 45_000;
/** Longer isn't waited for the answer whether the login still holds. */
const ANSWER_MS = 10_000;
/** A page hidden for longer may have slept through the stream's end without an error. */
const DISTRUST_AFTER_HIDDEN_MS = 30_000;

async function loginEnded(): Promise<boolean> {
  try {
    const answer = await fetch(ME_URL, { signal: AbortSignal.timeout(ANSWER_MS) });
    return await saysLoginEnded(answer.url, answer);
  } catch {
    return false; // no answer: the stream is tried again
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

  /** Tries at once, without waiting for its turn. */
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
    this.heard();
    stream.addEventListener('ping', this.heard);
    for (const name of EVENT_NAMES) {
      stream.addEventListener(name, (message: MessageEvent<string>) => {
        const event = toLiveEvent(name, message.data);
        if (event === null) return;
        this.heard();
        this.attempt = 0;
        this.emit(event);
      });
    }
    stream.onerror = () => {
      if (this.stream === stream) this.lose();
    };
  }

  private heard = (): void => {
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

  /** EventSource hides the status, so an ordinary request finds out whether the login still holds. */
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

  /** The browser has no network at all: the stream is lost, though it may not say so for minutes. */
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
  /** tries at once, without waiting for its turn */
  reopen: () => void;
}

export const openSource = (emit: (event: LiveEvent) => void): OpenSource => new Source(emit);
