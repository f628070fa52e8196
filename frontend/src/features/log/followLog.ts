/** Loads the end of a log, then follows it. */
import { ApiError, errorMessage } from '@/api/problem';
import type { LogPiece } from '@/api/types';
import { type EventStream, openEventStream } from '@/live/eventStream';
import { retryDelay } from '@/live/events';
import { append, EMPTY, type LogDoc, trim } from './doc';
import { followUrl, type LogSource, readLog, type Stream } from './source';

/** The size of the end of a long log that is loaded first, and the maximum that is kept. */
const FIRST_BYTES = 64 * 1024;
const KEPT_CHARACTERS = 8_000_000;

export interface LogState {
  doc: LogDoc;
  /** the number of bytes before the text shown; null: more than can be shown here */
  bytesBefore: number | null;
  /** `broken`: trying to connect again; `refused`: the portal has refused the request, which is final */
  state: 'loading' | 'following' | 'broken' | 'refused' | 'complete';
  error: string | null;
}

export const LOADING: LogState = { doc: EMPTY, bytesBefore: 0, state: 'loading', error: null };

/** Append a piece; `skipped`: output in between was left out, so drop the text before it. */
function withPiece(log: LogState, piece: LogPiece, skipped: boolean): LogState {
  const extended = append(skipped ? EMPTY : log.doc, piece.text);
  const doc = trim(extended, KEPT_CHARACTERS);
  const start = skipped || log.state === 'loading' ? piece.offset : log.bytesBefore;
  return {
    doc,
    bytesBefore: doc === extended ? start : null,
    state: piece.end ? 'complete' : 'following',
    error: null,
  };
}

/** Load the end of a log, then follow it. Return a function that stops it. */
export function followLog(
  source: LogSource,
  stream: Stream,
  show: (change: (log: LogState) => LogState) => void,
): () => void {
  let offset: number | null = null;
  let events: EventStream | null = null;
  let timer: number | undefined;
  let attempt = 0;
  let stopped = false;

  const add = (piece: LogPiece): void => {
    // A reader that is far too slow is moved to the end: earlier text is not contiguous with it.
    const skipped = offset !== null && piece.offset > offset;
    offset = piece.next_offset;
    show((log) => withPiece(log, piece, skipped));
  };

  const listen = (): void => {
    events = openEventStream({
      url: () => followUrl(source, stream, offset ?? 0),
      onEvent: {
        log: (data) => {
          const piece = JSON.parse(data) as LogPiece;
          add(piece);
          if (piece.end) events?.close();
        },
      },
      onOpen: () => show((log) => (log.state === 'broken' ? { ...log, state: 'following' } : log)),
      // a job may print nothing for hours
      onLost: (cause) => {
        if (cause === 'failed') show((log) => ({ ...log, state: 'broken' }));
      },
    });
  };

  const begin = async (): Promise<void> => {
    try {
      const first = await readLog(source, stream, -FIRST_BYTES);
      if (stopped) return;
      add(first);
      if (!first.end) listen();
    } catch (error) {
      if (stopped) return;
      const refused = error instanceof ApiError && [401, 403, 404, 422].includes(error.status);
      const state = refused ? 'refused' : 'broken';
      show((log) => ({ ...log, state, error: errorMessage(error) }));
      if (refused) return;
      timer = window.setTimeout(() => void begin(), retryDelay(attempt++, Math.random()));
    }
  };

  void begin();
  return () => {
    stopped = true;
    window.clearTimeout(timer);
    events?.close();
  };
}
