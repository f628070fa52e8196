import { useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, errorMessage } from '@/api/problem';
import type { LogPiece } from '@/api/types';
import { retryDelay } from '@/live/events';
import { append, EMPTY, type LogDoc, prepend, trim } from './doc';
import { earlierPiece } from './earlier';
import { followUrl, type LogSource, readLog, type Stream } from './source';

/** The size of the end of a long log that is loaded first, and the maximum that is kept. */
const FIRST_BYTES = 64 * 1024;
const KEPT_CHARACTERS = 8_000_000;

export interface LogState {
  doc: LogDoc;
  /** the number of bytes before the text shown; null: more than can be shown here */
  before: number | null;
  state: 'loading' | 'following' | 'broken' | 'complete';
  error: string | null;
}

export interface Log extends LogState {
  /** loads earlier output */
  readEarlier: () => void;
  reading: boolean;
}

const NOTHING: LogState = { doc: EMPTY, before: 0, state: 'loading', error: null };

/** Append a piece; `skipped`: output in between was left out, so drop the text before it. */
function withPiece(log: LogState, piece: LogPiece, skipped: boolean): LogState {
  const extended = append(skipped ? EMPTY : log.doc, piece.text);
  const doc = trim(extended, KEPT_CHARACTERS);
  const start = skipped || log.state === 'loading' ? piece.offset : log.before;
  return {
    doc,
    before: doc === extended ? start : null,
    state: piece.end ? 'complete' : 'following',
    error: null,
  };
}

/** Load the end of a log, then follow it. Returns a function that stops it. */
function follow(
  source: LogSource,
  stream: Stream,
  show: (change: (s: LogState) => LogState) => void,
) {
  let offset: number | null = null;
  let events: EventSource | null = null;
  let timer: number | undefined;
  let attempt = 0;
  let stopped = false;

  const add = (piece: LogPiece): void => {
    // A reader that is far too slow is moved to the end: earlier text is not contiguous with it.
    const skipped = offset !== null && piece.offset > offset;
    offset = piece.next_offset;
    show((s) => withPiece(s, piece, skipped));
  };

  const scheduleNext = (step: () => void): void => {
    if (!stopped) timer = window.setTimeout(step, retryDelay(attempt++, Math.random()));
  };

  const listen = (): void => {
    events = new EventSource(followUrl(source, stream, offset ?? 0));
    events.addEventListener('log', (message: MessageEvent<string>) => {
      attempt = 0;
      const piece = JSON.parse(message.data) as LogPiece;
      add(piece);
      if (piece.end) events?.close();
    });
    events.onerror = () => {
      events?.close();
      show((s) => ({ ...s, state: 'broken' }));
      scheduleNext(listen);
    };
  };

  const begin = async (): Promise<void> => {
    try {
      const first = await readLog(source, stream, -FIRST_BYTES);
      if (stopped) return;
      attempt = 0;
      add(first);
      if (!first.end) listen();
    } catch (error) {
      if (stopped) return;
      show((s) => ({ ...s, state: 'broken', error: errorMessage(error) }));
      const refused = error instanceof ApiError && [401, 403, 404, 422].includes(error.status);
      if (!refused) scheduleNext(() => void begin());
    }
  };

  void begin();
  return () => {
    stopped = true;
    window.clearTimeout(timer);
    events?.close();
  };
}

/** A log, followed while the page is open. */
export function useLog({ kind, id, task }: LogSource, stream: Stream): Log {
  const [log, setLog] = useState(NOTHING);
  const [reading, setReading] = useState(false);
  const shown = useRef(0);
  useEffect(() => {
    shown.current += 1;
    setLog(NOTHING);
    setReading(false);
    return follow({ kind, id, task }, stream, setLog);
  }, [kind, id, task, stream]);

  const { before } = log;
  const readEarlier = useCallback(() => {
    if (!before) return;
    const mine = shown.current;
    const add = async (): Promise<void> => {
      const change = await earlierPiece({ kind, id, task }, stream, before).then(
        ({ text, offset }) =>
          (s: LogState): LogState =>
            // Unless the log was truncated since, because it had grown too long.
            s.before === before ? { ...s, doc: prepend(s.doc, text), before: offset } : s,
        (error: unknown) =>
          (s: LogState): LogState => ({ ...s, error: errorMessage(error) }),
      );
      if (mine !== shown.current) return;
      setLog(change);
      setReading(false);
    };
    setReading(true);
    void add();
  }, [kind, id, task, stream, before]);

  return { ...log, readEarlier, reading };
}
