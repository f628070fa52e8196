import { localTime, utcTime } from '@/lib/time';
import { useNow } from '@/lib/useNow';

/** A moment in the reader's own time zone; the title has it in UTC. */
export function Time({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={utcTime(at)}>
      {localTime(at, now)}
    </time>
  );
}
