import { t } from '@lingui/core/macro';
import { Loader } from '@mantine/core';
import classes from './PlainPage.module.css';

/** The page shown while another takes long to load. */
export function PendingPage() {
  return (
    <div className={classes.center}>
      <Loader aria-label={t`Loading`} />
    </div>
  );
}
