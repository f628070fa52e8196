import { queryOptions } from '@tanstack/react-query';
import { type LogOf, readLog, type Stream } from './source';

const TAIL_BYTES = 16_384;

export interface LogTail {
  stream: Stream;
  text: string;
}

/** The end of an ended log: what was said to stderr, or else to stdout. */
export const logTailQuery = (of: LogOf) =>
  queryOptions({
    queryKey: ['log-tail', of],
    queryFn: async (): Promise<LogTail> => {
      const { text } = await readLog(of, 'stderr', -TAIL_BYTES);
      if (text.trim() !== '') return { stream: 'stderr', text };
      return { stream: 'stdout', text: (await readLog(of, 'stdout', -TAIL_BYTES)).text };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
