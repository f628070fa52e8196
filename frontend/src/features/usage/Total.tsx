import { Plural, Trans } from '@lingui/react/macro';
import { Term } from '@/features/glossary/Term';
import { Time } from '@/ui/Time';
import type { Range } from './months';
import { hoursText, type Row, totalOf } from './rows';
import { firstDay } from './span';
import classes from './Usage.module.css';

interface Props {
  rows: readonly Row[];
  /** when accounting was last read; null: never */
  asOf: string | null;
  /** the first day that was read */
  from: string | null;
  range: Range;
}

/** The total of all rows, and the time that the data covers. */
export function Total({ rows, asOf, from, range }: Props) {
  const total = totalOf(rows);
  const [gpuHours, cpuHours] = [hoursText(total.gpu_hours), hoursText(total.cpu_hours)];
  if (asOf === null)
    return (
      <p className={classes.total}>
        <Trans>Slurm's accounting has not been read for this period yet.</Trans>
      </p>
    );
  return (
    <p className={classes.total}>
      <Trans>
        <strong>
          {gpuHours} <Term word="GPU-hours">GPU-hours</Term>
        </strong>
        , {cpuHours} CPU-hours, <Plural value={total.jobs} one="# job" other="# jobs" />.
      </Trans>{' '}
      <span className={classes.quiet}>
        {from !== null && from > firstDay(range) ? (
          <Trans>
            Data from {from} to <Time at={asOf} />.
          </Trans>
        ) : (
          <Trans>
            Data until <Time at={asOf} />.
          </Trans>
        )}
      </span>
    </p>
  );
}
