import { useCallback, useEffect, useRef, useState } from 'react';
import { errorMessage } from '@/api/problem';
import { prepend } from './doc';
import { earlierPiece } from './earlier';
import { followLog, LOADING, type LogState } from './followLog';
import type { LogSource, Stream } from './source';

export interface Log extends LogState {
  /** loads earlier output */
  readEarlier: () => void;
  reading: boolean;
}

/** A log, followed while the page is open. */
export function useLog({ kind, id, task }: LogSource, stream: Stream): Log {
  const [log, setLog] = useState(LOADING);
  const [reading, setReading] = useState(false);
  // a late response may belong to the log that was shown before
  const shownLogs = useRef(0);
  useEffect(() => {
    shownLogs.current += 1;
    setLog(LOADING);
    setReading(false);
    return followLog({ kind, id, task }, stream, setLog);
  }, [kind, id, task, stream]);

  const { before } = log;
  const readEarlier = useCallback(() => {
    if (!before) return;
    const requestedFor = shownLogs.current;
    const add = async (): Promise<void> => {
      const change = await earlierPiece({ kind, id, task }, stream, before).then(
        ({ text, offset }) =>
          (state: LogState): LogState =>
            // Unless the log was truncated since, because it had grown too long.
            state.before === before
              ? { ...state, doc: prepend(state.doc, text), before: offset }
              : state,
        (error: unknown) =>
          (state: LogState): LogState => ({ ...state, error: errorMessage(error) }),
      );
      if (requestedFor !== shownLogs.current) return;
      setLog(change);
      setReading(false);
    };
    setReading(true);
    void add();
  }, [kind, id, task, stream, before]);

  return { ...log, readEarlier, reading };
}
