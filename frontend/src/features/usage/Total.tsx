import { Plural, Trans } from '@lingui/react/macro';
import { Term } from '@/features/glossary/Term';
import { Time } from '@/ui/Time';
import type { Range } from './months';
import { hours, type Row, totalOf } from './rows';
import classes from './Usage.module.css';

interface Props {
  rows: readonly Row[];
  /** when accounting was last read; null: never */
  asOf: string | null;
  /** the first day that was read */
  from: string | null;
  range: Range;
}

/** All rows together, and what of the time is known. */
export function Total({ rows, asOf, from, range }: Props) {
  const total = totalOf(rows);
  const [gpuHours, cpuHours] = [hours(total.gpu_hours), hours(total.cpu_hours)];
  if (asOf === null)
    return (
      <p className={classes.total}>
        <Trans>Not known: Slurm's accounting has not been read for this period yet.</Trans>
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
        {from !== null && from > `${range.from}-01` ? (
          <Trans>
            Counted until <Time at={asOf} />, from {from} on.
          </Trans>
        ) : (
          <Trans>
            Counted until <Time at={asOf} />.
          </Trans>
        )}
      </span>
    </p>
  );
}
