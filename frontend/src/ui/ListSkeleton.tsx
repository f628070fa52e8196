import { t } from '@lingui/core/macro';
import { Paper, Skeleton } from '@mantine/core';
import classes from './ListSkeleton.module.css';

/** A placeholder for a list that is loading: a head and rows, in the shape of a table. */
export function ListSkeleton({ rows = 8 }: { rows?: number }) {
  return (
    <Paper className={classes.list} role="status" aria-label={t`Loading`}>
      <Skeleton className={classes.head} height={14} width="35%" aria-hidden="true" role="none" />
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are alike and never move
        <div key={row} className={classes.row} aria-hidden="true">
          <Skeleton height={12} width={`${70 - ((row * 17) % 30)}%`} role="none" />
          <Skeleton height={12} width="60%" role="none" />
          <Skeleton height={12} width="40%" role="none" />
        </div>
      ))}
    </Paper>
  );
}
