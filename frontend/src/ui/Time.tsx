import { VisuallyHidden } from '@mantine/core';
import { useMemo } from 'react';
import { ago, localTime, utcTime } from '@/lib/time';
import { useDerivedNow } from '@/lib/useNow';

const DAY_MS = 24 * 60 * 60 * 1000;

const dayOf = (ms: number): number => new Date(ms).setHours(0, 0, 0, 0);

interface Props {
  at: string;
  /** whether to show a time of the last 24 hours as "4 min ago" */
  relative?: boolean;
}

/** A time in the reader's zone, with UTC in the tooltip; a relative one also has the time of day,
 * in the tooltip and for screen readers. */
export function Time({ at, relative = false }: Props) {
  // Renders only when its text changes; the format of an absolute time depends on the day alone.
  const current = useDerivedNow((ms) => {
    const past = ms - Date.parse(at);
    return relative && past >= 0 && past < DAY_MS ? ago(at, ms) : dayOf(ms);
  });
  const day = typeof current === 'number' ? current : dayOf(Date.parse(at));
  const [absolute, utc] = useMemo(() => [localTime(at, day), utcTime(at)], [at, day]);
  if (typeof current === 'number')
    return (
      <time dateTime={at} title={utc}>
        {absolute}
      </time>
    );
  return (
    <time dateTime={at} title={`${absolute} · ${utc}`}>
      {current}
      <VisuallyHidden component="span"> ({absolute})</VisuallyHidden>
    </time>
  );
}
