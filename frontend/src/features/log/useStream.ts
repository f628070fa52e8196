import { useCallback, useEffect, useState } from 'react';
import type { LogState } from './followLog';
import { type LogSource, readLog, type Stream } from './source';

export const otherStream = (stream: Stream): Stream => (stream === 'stdout' ? 'stderr' : 'stdout');

/** Return whether the log is empty and stays so. */
export const staysEmpty = ({ state, doc, bytesBefore }: LogState): boolean =>
  state === 'complete' && doc.characters === 0 && bytesBefore === 0;

interface StreamState {
  stream: Stream;
  choose: (stream: Stream) => void;
  /** call it if the shown stream is empty: shows the other if that has text, unless the user has
   * selected one */
  onEmpty: () => void;
}

/** The stream that is shown: the first, or the one that has text. */
export function useStream({ kind, id, task }: LogSource, first: Stream): StreamState {
  const [chosen, choose] = useState<Stream | null>(null);
  const [stream, setStream] = useState<Stream>(first);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another log starts a new stream
  useEffect(() => setStream(first), [kind, id, task, first]);
  const onEmpty = useCallback(() => {
    const other = otherStream(first);
    const check = async (): Promise<void> => {
      const { text } = await readLog({ kind, id, task }, other, -1, 1);
      if (text !== '') setStream(other);
    };
    // Keep the empty one if the other cannot be read.
    check().catch(() => undefined);
  }, [kind, id, task, first]);
  return { stream: chosen ?? stream, choose, onEmpty };
}
