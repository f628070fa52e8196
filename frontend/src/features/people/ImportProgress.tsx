import { Progress } from '@mantine/core';
import classes from './Import.module.css';
import type { PeopleImport } from './shapes';

/** How far an import, or its dry run, is. */
export function ImportProgress({ run }: { run: PeopleImport }) {
  const percent = run.total === 0 ? 0 : Math.round((100 * run.done) / run.total);
  const what = run.dry_run ? 'Checking' : 'Creating people';
  return (
    <div className={classes.progress} role="status">
      <span>
        {what}: {run.done} of {run.total} lines
      </span>
      <Progress value={percent} aria-label={what} size="lg" />
      {!run.dry_run && (
        <span className={classes.quiet}>
          It goes on if you leave this page, and its address finds it again.
        </span>
      )}
    </div>
  );
}
