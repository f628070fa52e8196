/** The stream of live updates, as LiveEvents. */

import { type EventStream, openEventStream } from './eventStream';
import { EVENT_NAMES, toLiveEvent } from './events';
import type { LiveEvent } from './reducer';

const STREAM_URL = '/api/v1/events';

export function openSource(emit: (event: LiveEvent) => void): EventStream {
  const handlers = EVENT_NAMES.map((name) => [
    name,
    (data: string): void => {
      const event = toLiveEvent(name, data);
      if (event !== null) emit(event);
    },
  ]);
  return openEventStream({
    url: () => STREAM_URL,
    onEvent: Object.fromEntries(handlers),
    onLost: (_cause, retryAt) => emit({ kind: 'connection', connection: 'lost', retryAt }),
    onLoginEnded: () => emit({ kind: 'connection', connection: 'ended', retryAt: null }),
  });
}
