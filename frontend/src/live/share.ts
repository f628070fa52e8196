/**
 * One event stream for all tabs of a browser. Over HTTP/1.1 a browser opens six connections to
 * a host; a stream for each tab would use them up and freeze JupyterLab. The tab that holds the
 * lock reads the stream and passes it on; when it closes, the lock goes to the next.
 * Each user has a stream of their own: a tab that still belongs to the previous user of the
 * browser neither leads nor forwards events.
 * Without locks (plain HTTP by a host name), each visible tab has its own stream.
 */
import type { EventStream } from './eventStream';
import type { LiveEvent, LiveState } from './reducer';
import { openSource } from './source';

/** The number changes with the messages: tabs of different versions do not share a stream. */
const channelName = (username: string): string => `portal-events 2 ${username}`;

type Message =
  | { kind: 'event'; event: LiveEvent }
  /** a new tab asks for the known state */
  | { kind: 'hello' }
  /** the user wants to reconnect at once */
  | { kind: 'reopen' }
  | { kind: 'state'; state: LiveState };

interface Sink {
  emit: (event: LiveEvent) => void;
  state: () => LiveState;
}

function lead(channel: BroadcastChannel, sink: Sink): EventStream {
  const source = openSource((event) => {
    sink.emit(event);
    channel.postMessage({ kind: 'event', event } satisfies Message);
  });
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.kind === 'hello')
      channel.postMessage({ kind: 'state', state: sink.state() } satisfies Message);
    if (data.kind === 'reopen') source.reopen();
  };
  return source;
}

function follow(channel: BroadcastChannel, sink: Sink): void {
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.kind === 'event') sink.emit(data.event);
    if (data.kind !== 'state') return;
    const { sessions, jobs, cluster, announcements, connection, retryAt } = data.state;
    if (sessions !== null)
      sink.emit({
        kind: 'snapshot',
        sessions: [...sessions],
        jobs: [...(jobs ?? [])],
        cluster,
        announcements: announcements ?? [],
      });
    sink.emit({ kind: 'connection', connection, retryAt });
  };
  channel.postMessage({ kind: 'hello' } satisfies Message);
}

function openShared(sink: Sink, username: string): EventStream {
  const name = channelName(username);
  const channel = new BroadcastChannel(name);
  const stop = new AbortController();
  let own: EventStream | null = null;
  follow(channel, sink);
  navigator.locks
    .request(name, { signal: stop.signal }, async () => {
      own = lead(channel, sink);
      await new Promise((resolve) => stop.signal.addEventListener('abort', resolve));
      own.close();
    })
    .catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
    });
  return {
    close: () => {
      stop.abort();
      channel.close();
    },
    reopen: () => {
      if (own) own.reopen();
      else channel.postMessage({ kind: 'reopen' } satisfies Message);
    },
  };
}

function openWhileVisible(sink: Sink): EventStream {
  let own: EventStream | null = null;
  const onVisibility = (): void => {
    if (document.hidden) {
      own?.close();
      own = null;
    } else {
      own ??= openSource(sink.emit);
    }
  };
  document.addEventListener('visibilitychange', onVisibility);
  onVisibility();
  return {
    close: () => {
      document.removeEventListener('visibilitychange', onVisibility);
      own?.close();
    },
    reopen: () => own?.reopen(),
  };
}

export function openLive(sink: Sink, username: string): EventStream {
  const canShare = 'locks' in navigator && 'BroadcastChannel' in window;
  return canShare ? openShared(sink, username) : openWhileVisible(sink);
}
