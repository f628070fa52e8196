import { useEffect, useState } from 'react';
import { ApiError, sentence } from '@/api/problem';
import type { LogPiece } from '@/api/types';
import { keepTail } from '@/lib/terminal';
import { retryDelay } from '@/live/events';
import { followUrl, type LogOf, readLog, type Stream } from './source';

/** How much of a long log's end is shown at first, and kept at most. */
const FIRST_BYTES = 64 * 1024;
const KEPT_CHARACTERS = 1_000_000;

export interface LogState {
  text: string;
  /** the beginning isn't shown */
  cut: boolean;
  state: 'loading' | 'following' | 'broken' | 'complete';
  error: string | null;
}

const NOTHING: LogState = { text: '', cut: false, state: 'loading', error: null };

/** Reads the end of a log, then follows it. Returns what stops it. */
function follow(of: LogOf, stream: Stream, show: (change: (s: LogState) => LogState) => void) {
  let offset: number | null = null;
  let source: EventSource | null = null;
  let timer: number | undefined;
  let attempt = 0;
  let stopped = false;

  const add = (piece: LogPiece): void => {
    // Who reads far too slowly is brought to the end: what came before doesn't join on.
    const skipped = offset !== null && piece.offset > offset;
    offset = piece.next_offset;
    show((s) => {
      const whole = skipped ? piece.text : s.text + piece.text;
      const text = keepTail(whole, KEPT_CHARACTERS);
      const state = piece.end ? 'complete' : 'following';
      return { text, cut: s.cut || skipped || text.length < whole.length, state, error: null };
    });
  };

  const again = (step: () => void): void => {
    if (!stopped) timer = window.setTimeout(step, retryDelay(attempt++, Math.random()));
  };

  const listen = (): void => {
    source = new EventSource(followUrl(of, stream, offset ?? 0));
    source.addEventListener('log', (message: MessageEvent<string>) => {
      attempt = 0;
      const piece = JSON.parse(message.data) as LogPiece;
      add(piece);
      if (piece.end) source?.close();
    });
    source.onerror = () => {
      source?.close();
      show((s) => ({ ...s, state: 'broken' }));
      again(listen);
    };
  };

  const begin = async (): Promise<void> => {
    try {
      const first = await readLog(of, stream, -FIRST_BYTES);
      if (stopped) return;
      attempt = 0;
      add(first);
      if (first.size > FIRST_BYTES) show((s) => ({ ...s, cut: true }));
      if (!first.end) listen();
    } catch (error) {
      show((s) => ({ ...s, state: 'broken', error: sentence(error) }));
      const refused = error instanceof ApiError && [401, 403, 404].includes(error.status);
      if (!refused) again(() => void begin());
    }
  };

  void begin();
  return () => {
    stopped = true;
    window.clearTimeout(timer);
    source?.close();
  };
}

/** A log, followed as long as the page is open. */
export function useLog({ kind, id, task }: LogOf, stream: Stream): LogState {
  const [log, setLog] = useState(NOTHING);
  useEffect(() => {
    setLog(NOTHING);
    return follow({ kind, id, task }, stream, setLog);
  }, [kind, id, task, stream]);
  return log;
}
