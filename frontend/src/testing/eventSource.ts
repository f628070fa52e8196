/** A browser of which a test controls the event streams, the network and the visible tab. */
import { vi } from 'vitest';

class FakeEventSource extends EventTarget {
  static readonly opened: FakeEventSource[] = [];
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  closed = false;

  constructor(readonly url: string) {
    super();
    FakeEventSource.opened.push(this);
  }

  close(): void {
    this.closed = true;
  }

  send(name: string, data: unknown = {}): void {
    this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) }));
  }
}

export interface FakeBrowser {
  /** all connections, the oldest first */
  streams: readonly FakeEventSource[];
  newest: () => FakeEventSource;
  /** the number of connections that are not closed */
  open: () => number;
  emit: (name: 'online' | 'offline') => void;
  setHidden: (hidden: boolean) => void;
}

/** Stub the browser. The test has to use fake timers, and to undo the stubs. */
export function fakeBrowser(): FakeBrowser {
  FakeEventSource.opened.length = 0;
  const page = Object.assign(new EventTarget(), { hidden: false });
  const target = Object.assign(new EventTarget(), {
    setTimeout: setTimeout.bind(globalThis),
    clearTimeout: clearTimeout.bind(globalThis),
  });
  vi.stubGlobal('EventSource', FakeEventSource);
  vi.stubGlobal('document', page);
  vi.stubGlobal('window', target);
  const streams = FakeEventSource.opened;
  return {
    streams,
    newest: () => {
      const stream = streams.at(-1);
      if (stream === undefined) throw new Error('no stream was opened');
      return stream;
    },
    open: () => streams.filter(({ closed }) => !closed).length,
    emit: (name) => target.dispatchEvent(new Event(name)),
    setHidden: (hidden) => {
      page.hidden = hidden;
      page.dispatchEvent(new Event('visibilitychange'));
    },
  };
}
