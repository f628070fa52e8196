import { queryOptions } from '@tanstack/react-query';
import { clock } from '@/lib/clock';
import { type LogSource, readLog, type Stream } from './source';

const TAIL_BYTES = 16_384;
/** For so long after the end a slow file system may not show yet what was printed. */
const LATE_MS = 60_000;
const AGAIN_MS = 5_000;

export interface LogTail {
  stream: Stream;
  text: string;
}

const isEmpty = (tail: LogTail | undefined): boolean => tail?.text.trim() === '';

/** After how many ms it is read again; false: that is all there will be. */
export function againMs(
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
    refetchInterval: ({ state }) => againMs(state.data, endedAt, clock.now()),
  });
