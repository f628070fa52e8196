import { useCallback, useEffect, useRef, useState } from 'react';
import { errorMessage } from '@/api/problem';
import { prepend } from './doc';
import { earlierPiece } from './earlier';
import { followLog, LOADING, type LogState } from './followLog';
import type { LogSource, Stream } from './source';

export interface Log extends LogState {
  /** loads earlier output */
  loadEarlier: () => void;
  isLoadingEarlier: boolean;
}

/** A log, followed while the page is open. */
export function useLog({ kind, id, task }: LogSource, stream: Stream): Log {
  const [log, setLog] = useState(LOADING);
  const [isLoadingEarlier, setLoadingEarlier] = useState(false);
  // a late response may belong to the log that was shown before
  const shownLogs = useRef(0);
  useEffect(() => {
    shownLogs.current += 1;
    setLog(LOADING);
    setLoadingEarlier(false);
    return followLog({ kind, id, task }, stream, setLog);
  }, [kind, id, task, stream]);

  const { bytesBefore } = log;
  const loadEarlier = useCallback(() => {
    if (!bytesBefore) return;
    const requestedFor = shownLogs.current;
    const add = async (): Promise<void> => {
      const change = await earlierPiece({ kind, id, task }, stream, bytesBefore).then(
        ({ text, offset }) =>
          (state: LogState): LogState =>
            // Unless the log was truncated since, because it had grown too long.
            state.bytesBefore === bytesBefore
              ? { ...state, doc: prepend(state.doc, text), bytesBefore: offset }
              : state,
        (error: unknown) =>
          (state: LogState): LogState => ({ ...state, error: errorMessage(error) }),
      );
      if (requestedFor !== shownLogs.current) return;
      setLog(change);
      setLoadingEarlier(false);
    };
    setLoadingEarlier(true);
    void add();
  }, [kind, id, task, stream, bytesBefore]);

  return { ...log, loadEarlier, isLoadingEarlier };
}
