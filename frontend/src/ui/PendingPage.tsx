import { t } from '@lingui/core/macro';
import { Loader } from '@mantine/core';
import classes from './PlainPage.module.css';

/** Shown when a page takes longer than a blink to arrive. */
export function PendingPage() {
  return (
    <div className={classes.center}>
      <Loader aria-label={t`Loading`} />
    </div>
  );
}
