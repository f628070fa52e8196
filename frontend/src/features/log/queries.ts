import { queryOptions } from '@tanstack/react-query';
import { type LogOf, readLog } from './source';

const TAIL_BYTES = 3000;

/** The end of an ended log: what was said to stderr, or else to stdout. */
export const logTailQuery = (of: LogOf) =>
  queryOptions({
    queryKey: ['log-tail', of],
    queryFn: async () => {
      const stderr = await readLog(of, 'stderr', -TAIL_BYTES);
      return stderr.text.trim() === '' ? readLog(of, 'stdout', -TAIL_BYTES) : stderr;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
