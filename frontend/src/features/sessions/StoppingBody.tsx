import { t } from '@lingui/core/macro';
import type { Session } from '@/api/types';
import { said } from '@/i18n/said';
import { Facts } from './Facts';
import classes from './SessionCard.module.css';

export function StoppingBody({ session }: { session: Session }) {
  return (
    <>
      <p className={classes.reason}>
        {said(session.reason) ?? t`Its kernels are being ended and its place is given back.`}
      </p>
      <Facts session={session} />
    </>
  );
}
