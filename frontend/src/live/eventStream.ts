/**
 * A connection for server-sent events. It is reopened when it breaks or falls silent, when the browser
 * is online again, and when the page is shown again after a long time. It closes when the login ends.
 */
import { api, unwrap } from '@/api/client';
import { hasLoginEnded } from '@/api/lostLogin';
import { ApiError } from '@/api/problem';
import { retryDelay } from './events';

const ME_URL = '/api/v1/me';
/** The portal sends something every 15 seconds. A connection that is silent for this long is dead,
 * without an error: the laptop slept, or the network changed. */
export const SILENCE_MS = 45_000;
/** The timeout of the request that checks whether the login is still valid. */
const LOGIN_CHECK_MS = 10_000;
/** A page hidden for longer may have missed the stream's end while the device slept. */
const DISTRUST_AFTER_HIDDEN_MS = 30_000;

interface Options {
  /** called for each connection */
  url: () => string;
  /** by the event's name; called with the event's data */
  onEvent: Readonly<Record<string, (data: string) => void>>;
  /** called when a connection is open, before its first event */
  onOpen?: () => void;
  /** `silent`: there was no error; `retryAt`: milliseconds by this browser's clock */
  onLost: (cause: 'silent' | 'failed', retryAt: number) => void;
  /** called before the stream waits for another login */
  onLoginEnded?: () => void;
}

export interface EventStream {
  close: () => void;
  /** reconnects at once instead of after the delay */
  reopen: () => void;
}

async function loginEnded(): Promise<boolean> {
  try {
    const answer = await fetch(ME_URL, { signal: AbortSignal.timeout(LOGIN_CHECK_MS) });
    return await hasLoginEnded(answer.url, answer);
  } catch {
    return false; // no response: reconnect later
  }
}

class ReconnectingStream implements EventStream {
  private connection: EventSource | null = null;
  private timer: number | undefined;
  private watchdog: number | undefined;
  private attempt = 0;
  private hiddenAt: number | null = null;
  private closed = false;

  constructor(private readonly options: Options) {
    window.addEventListener('online', this.reopen);
    window.addEventListener('offline', this.onOffline);
    document.addEventListener('visibilitychange', this.onVisibility);
    this.connect();
  }

  close = (): void => {
    this.closed = true;
    window.removeEventListener('online', this.reopen);
    window.removeEventListener('offline', this.onOffline);
    document.removeEventListener('visibilitychange', this.onVisibility);
    window.clearTimeout(this.timer);
    window.clearTimeout(this.watchdog);
    this.connection?.close();
  };

  reopen = (): void => {
    if (this.closed) return;
    window.clearTimeout(this.timer);
    this.attempt = 0;
    this.connect();
  };

  private connect(): void {
    const { url, onEvent, onOpen } = this.options;
    this.connection?.close();
    const connection = new EventSource(url());
    this.connection = connection;
    this.restartWatchdog();
    connection.addEventListener('ping', this.restartWatchdog);
    for (const [name, receive] of Object.entries(onEvent)) {
      connection.addEventListener(name, (message: MessageEvent<string>) => {
        this.restartWatchdog();
        this.attempt = 0;
        receive(message.data);
      });
    }
    connection.onopen = () => onOpen?.();
    connection.onerror = () => {
      if (this.connection === connection) this.lose('failed');
    };
  }

  private restartWatchdog = (): void => {
    window.clearTimeout(this.watchdog);
    this.watchdog = window.setTimeout(() => this.lose('silent'), SILENCE_MS);
  };

  private lose(cause: 'silent' | 'failed'): void {
    this.connection?.close();
    window.clearTimeout(this.timer);
    window.clearTimeout(this.watchdog);
    if (this.closed) return;
    const delay = retryDelay(this.attempt++, Math.random());
    this.options.onLost(cause, Date.now() + delay);
    this.timer = window.setTimeout(this.tryAgain, delay);
  }

  /** EventSource hides the status, so check with an ordinary request whether the login is still
   * valid. */
  private tryAgain = async (): Promise<void> => {
    if (await loginEnded()) {
      this.options.onLoginEnded?.();
      try {
        await unwrap(api.GET('/api/v1/me')); // waits until the same user has logged in again
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) return this.close();
      }
    }
    if (!this.closed) this.connect();
  };

  /** The browser is offline: the stream is lost, though it may not report that for minutes. */
  private onOffline = (): void => this.lose('failed');

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

export const openEventStream = (options: Options): EventStream => new ReconnectingStream(options);
