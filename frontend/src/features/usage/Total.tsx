import { Term } from '@/features/glossary/Term';
import { plural } from '@/features/sessions/words';
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
  if (asOf === null)
    return (
      <p className={classes.total}>
        Not known: Slurm's accounting has not been read for this time, or not yet.
      </p>
    );
  return (
    <p className={classes.total}>
      <strong>
        {hours(total.gpu_hours)} <Term>GPU-hours</Term>
      </strong>
      , {hours(total.cpu_hours)} CPU-hours, {plural(total.jobs, 'job')}.{' '}
      <span className={classes.quiet}>
        Counted until <Time at={asOf} />
        {from !== null && from > `${range.from}-01` && `, from ${from} on`}.
      </span>
    </p>
  );
}
