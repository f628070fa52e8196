import { t } from '@lingui/core/macro';
import type { Session } from '@/api/types';
import { translate } from '@/i18n/translate';
import { Facts } from './Facts';
import classes from './SessionCard.module.css';

/** The state of a session that is stopping, on its card and its page. */
export function StoppingBody({ session }: { session: Session }) {
  return (
    <>
      <p className={classes.reason}>
        {translate(session.reason) ??
          t`Its kernels are shutting down, and its resources are being released.`}
      </p>
      <Facts session={session} />
    </>
  );
}
