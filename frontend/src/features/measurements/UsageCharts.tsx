import { useId, useState } from 'react';
import classes from '@/ui/plot/Plot.module.css';
import { RangeControl } from '@/ui/plot/RangeControl';
import { type RangeChoice, rangeOf } from '@/ui/plot/series';
import { TimeChart } from '@/ui/plot/TimeChart';
import type { UsageChart } from './charts';

/** Charts of usage with a common cursor and a common choice of the time range. */
export function UsageCharts({ charts }: { charts: readonly UsageChart[] }) {
  const [choice, setChoice] = useState<RangeChoice>('all');
  const syncKey = useId();
  const times = charts.flatMap(({ at }) => [at[0], at.at(-1)]).filter((at) => at !== undefined);
  const span = times.length > 0 ? [Math.min(...times), Math.max(...times)] : [];
  const range = rangeOf(span, choice);
  return (
    <div className={classes.group}>
      <RangeControl at={span} value={choice} onChange={setChoice} />
      <div className={classes.charts}>
        {charts.map(({ key, ...chart }) => (
          <TimeChart key={key} {...chart} range={range} syncKey={syncKey} />
        ))}
      </div>
    </div>
  );
}
