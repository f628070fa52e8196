import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Progress } from '@mantine/core';
import classes from './Import.module.css';
import type { UserImport } from './types';

/** The progress of an import, or of its dry run. */
export function ImportProgress({ run }: { run: UserImport }) {
  const { done, total } = run;
  const percent = total === 0 ? 0 : Math.round((100 * done) / total);
  return (
    <div className={classes.progress} role="status">
      <span>
        {run.dry_run
          ? t`Checking: ${done} of ${total} lines`
          : t`Creating users: ${done} of ${total} lines`}
      </span>
      <Progress
        value={percent}
        aria-label={run.dry_run ? t`Checking` : t`Creating users`}
        size="lg"
      />
      {!run.dry_run && (
        <span className={classes.quiet}>
          <Trans>
            It continues if you leave this page. To return to it, use the address of this page.
          </Trans>
        </span>
      )}
    </div>
  );
}
