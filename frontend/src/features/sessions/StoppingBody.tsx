import type { Session } from '@/api/types';
import { Facts } from './Facts';
import classes from './SessionCard.module.css';

export function StoppingBody({ session }: { session: Session }) {
  return (
    <>
      <p className={classes.reason}>
        {session.reason ?? 'Its kernels are being ended and its place is given back.'}
      </p>
      <Facts session={session} />
    </>
  );
}
