import { queryOptions } from '@tanstack/react-query';
import { clock } from '@/lib/clock';
import { type LogSource, readLog, type Stream } from './source';

const TAIL_BYTES = 16_384;
/** For this long after the end, a slow file system may not show the last output. */
const LATE_MS = 60_000;
const AGAIN_MS = 5_000;

export interface LogTail {
  stream: Stream;
  text: string;
}

const isEmpty = (tail: LogTail | undefined): boolean => tail?.text.trim() === '';

/** Return the delay until the next read in ms; false: the log is complete. */
export function refetchMs(
  tail: LogTail | undefined,
  endedAt: string | null,
  now: number,
): number | false {
  const late = endedAt !== null && now - Date.parse(endedAt) < LATE_MS;
  return late && isEmpty(tail) ? AGAIN_MS : false;
}

/**
 * Fetch the end of a finished log: stderr, or stdout if that is empty. `endedAt` distinguishes this
 * run from an earlier one of a requeued job.
 */
export const logTailQuery = (source: LogSource, endedAt: string | null) =>
  queryOptions({
    queryKey: ['log-tail', source, endedAt],
    queryFn: async (): Promise<LogTail> => {
      const { text } = await readLog(source, 'stderr', -TAIL_BYTES);
      if (text.trim() !== '') return { stream: 'stderr', text };
      return { stream: 'stdout', text: (await readLog(source, 'stdout', -TAIL_BYTES)).text };
    },
    staleTime: ({ state }) => (isEmpty(state.data) ? 0 : Number.POSITIVE_INFINITY),
    refetchInterval: ({ state }) => refetchMs(state.data, endedAt, clock.now()),
  });
