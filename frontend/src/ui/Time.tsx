import { useMemo } from 'react';
import { localTime, utcTime } from '@/lib/time';
import { useNowAs } from '@/lib/useNow';

const dayOf = (ms: number): number => new Date(ms).setHours(0, 0, 0, 0);

/** A moment in the reader's own time zone; the title has it in UTC. */
export function Time({ at }: { at: string }) {
  const today = useNowAs(dayOf); // the format depends on the day alone
  const [text, title] = useMemo(() => [localTime(at, today), utcTime(at)], [at, today]);
  return (
    <time dateTime={at} title={title}>
      {text}
    </time>
  );
}
