import { Skeleton } from '@mantine/core';
import type { ReactNode } from 'react';
import formClasses from '@/ui/FormPage.module.css';
import { FormSkeleton } from '@/ui/FormSkeleton';
import classes from './StartPage.module.css';

// shape, number of fields, height in px
const GROUPS = [
  ['cards', 6, 280],
  ['cards', 4],
  ['wide', 1],
] as const;

/** A placeholder for the form that starts a session. `aside` is shown below that of the summary. */
export function StartSkeleton({ aside }: { aside: ReactNode }) {
  return (
    <div className={formClasses.columns}>
      <FormSkeleton groups={GROUPS} />
      <div className={classes.side}>
        <Skeleton height={280} radius="lg" role="none" />
        {aside}
      </div>
    </div>
  );
}
