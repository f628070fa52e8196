import { t } from '@lingui/core/macro';
import { Skeleton } from '@mantine/core';
import classes from './PageSkeleton.module.css';

/** A placeholder for a page about one thing that is loading: its name, facts, and a large box. */
export function PageSkeleton() {
  return (
    <div className={classes.page} role="status" aria-label={t`Loading`}>
      <Skeleton height={28} width="min(20rem, 60%)" role="none" />
      <Skeleton height={110} radius="lg" role="none" />
      <Skeleton height={260} radius="lg" role="none" />
    </div>
  );
}
