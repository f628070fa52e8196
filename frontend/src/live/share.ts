/**
 * One event stream for all tabs of a browser. Over HTTP/1.1 a browser opens six connections to
 * a host; a stream for each tab would use them up and freeze JupyterLab. The tab that holds the
 * lock reads the stream and passes it on; when it closes, the lock goes to the next.
 * Where locks don't exist (plain HTTP by a host name), each visible tab has its own stream.
 */
import type { LiveEvent, LiveState } from './reducer';
import { openSource } from './source';

const NAME = 'portal-events';

type Message =
  | { kind: 'event'; event: LiveEvent }
  /** a new tab asks what is known */
  | { kind: 'hello' }
  | { kind: 'state'; state: LiveState };

interface Sink {
  emit: (event: LiveEvent) => void;
  state: () => LiveState;
}

function lead(channel: BroadcastChannel, sink: Sink): () => void {
  const closeSource = openSource((event) => {
    sink.emit(event);
    channel.postMessage({ kind: 'event', event } satisfies Message);
  });
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.kind !== 'hello') return;
    channel.postMessage({ kind: 'state', state: sink.state() } satisfies Message);
  };
  return closeSource;
}

function follow(channel: BroadcastChannel, sink: Sink): void {
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.kind === 'event') sink.emit(data.event);
    if (data.kind !== 'state') return;
    const { sessions, jobs, cluster, announcements, link } = data.state;
    if (sessions !== null)
      sink.emit({
        kind: 'snapshot',
        sessions: [...sessions],
        jobs: [...(jobs ?? [])],
        cluster,
        announcements: announcements ?? [],
      });
    sink.emit({ kind: 'link', link });
  };
  channel.postMessage({ kind: 'hello' } satisfies Message);
}

function openShared(sink: Sink): () => void {
  const channel = new BroadcastChannel(NAME);
  const stop = new AbortController();
  follow(channel, sink);
  navigator.locks
    .request(NAME, { signal: stop.signal }, async () => {
      const closeSource = lead(channel, sink);
      await new Promise((resolve) => stop.signal.addEventListener('abort', resolve));
      closeSource();
    })
    .catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
    });
  return () => {
    stop.abort();
    channel.close();
  };
}

function openWhileVisible(sink: Sink): () => void {
  let close: (() => void) | null = null;
  const onVisibility = (): void => {
    if (document.hidden) {
      close?.();
      close = null;
    } else {
      close ??= openSource(sink.emit);
    }
  };
  document.addEventListener('visibilitychange', onVisibility);
  onVisibility();
  return () => {
    document.removeEventListener('visibilitychange', onVisibility);
    close?.();
  };
}

export function openLive(sink: Sink): () => void {
  const canShare = 'locks' in navigator && 'BroadcastChannel' in window;
  return canShare ? openShared(sink) : openWhileVisible(sink);
}
