/** The event stream: opens it, opens it again when it breaks, and stops when the login has ended. */
import { api, unwrap } from '@/api/client';
import { ApiError } from '@/api/problem';
import { EVENT_NAMES, retryDelay, toLiveEvent } from './events';
import type { LiveEvent } from './reducer';

const STREAM_URL = '/api/v1/events';
/** A page hidden for longer may have slept through the stream's end without an error. */
const DISTRUST_AFTER_HIDDEN_MS = 30_000;

class Source {
  private stream: EventSource | null = null;
  private timer: number | undefined;
  private attempt = 0;
  private hiddenAt: number | null = null;
  private closed = false;

  constructor(private readonly emit: (event: LiveEvent) => void) {
    window.addEventListener('online', this.reopen);
    document.addEventListener('visibilitychange', this.onVisibility);
    this.open();
  }

  close = (): void => {
    this.closed = true;
    window.removeEventListener('online', this.reopen);
    document.removeEventListener('visibilitychange', this.onVisibility);
    window.clearTimeout(this.timer);
    this.stream?.close();
  };

  private open(): void {
    const stream = new EventSource(STREAM_URL);
    this.stream = stream;
    for (const name of EVENT_NAMES) {
      stream.addEventListener(name, (message: MessageEvent<string>) => {
        const event = toLiveEvent(name, message.data);
        if (event === null) return;
        this.attempt = 0;
        this.emit(event);
      });
    }
    stream.onerror = () => {
      stream.close();
      if (this.closed || this.stream !== stream) return;
      this.emit({ kind: 'link', link: 'lost' });
      this.timer = window.setTimeout(this.tryAgain, retryDelay(this.attempt++, Math.random()));
    };
  }

  /** EventSource hides the status, so an ordinary request finds out whether the login still holds. */
  private tryAgain = async (): Promise<void> => {
    try {
      await unwrap(api.GET('/api/v1/me'));
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return this.close();
    }
    if (!this.closed) this.open();
  };

  private reopen = (): void => {
    window.clearTimeout(this.timer);
    this.stream?.close();
    this.attempt = 0;
    this.open();
  };

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

/** Returns what closes it. */
export function openSource(emit: (event: LiveEvent) => void): () => void {
  return new Source(emit).close;
}
