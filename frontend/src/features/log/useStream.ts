import { useCallback, useEffect, useState } from 'react';
import { type LogSource, readLog, type Stream } from './source';
import type { LogState } from './useLog';

export const otherStream = (stream: Stream): Stream => (stream === 'stdout' ? 'stderr' : 'stdout');

/** Whether nothing was printed, and nothing will be. */
export const isSilent = ({ state, doc, before }: LogState): boolean =>
  state === 'complete' && doc.characters === 0 && before === 0;

interface StreamState {
  stream: Stream;
  choose: (stream: Stream) => void;
  /** the shown one holds nothing: shows the other if that does, unless one was chosen */
  onSilent: () => void;
}

/** Which of the two outputs is shown: the first, or the one that holds anything. */
export function useStream({ kind, id, task }: LogSource, first: Stream): StreamState {
  const [chosen, choose] = useState<Stream | null>(null);
  const [found, setFound] = useState<Stream>(first);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another log starts a new stream
  useEffect(() => setFound(first), [kind, id, task, first]);
  const onSilent = useCallback(() => {
    const other = otherStream(first);
    const check = async (): Promise<void> => {
      const { text } = await readLog({ kind, id, task }, other, -1, 1);
      if (text !== '') setFound(other);
    };
    // The empty one stays where the other can't be read.
    check().catch(() => undefined);
  }, [kind, id, task, first]);
  return { stream: chosen ?? found, choose, onSilent };
}
