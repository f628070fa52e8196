import { Paper, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { sentence } from '@/api/problem';
import { NotFoundPage } from '@/app/NotFoundPage';
import { PageTitle } from '@/app/PageTitle';
import { useMe } from '@/features/account/useMe';
import { plural } from '@/features/sessions/words';
import { isLive } from '@/live/reducer';
import { Notice } from '@/ui/Notice';
import { AdminNav } from './AdminNav';
import classes from './AdminPage.module.css';
import { AdminTable } from './AdminTable';
import { allSessionsQuery } from './queries';

/** Everybody's sessions, for administrators. */
export function AdminPage() {
  const me = useMe();
  return me.role === 'admin' ? <AllSessions /> : <NotFoundPage />;
}

function AllSessions() {
  const { data, error } = useQuery(allSessionsQuery);
  const running = data?.filter(isLive);
  return (
    <>
      <div className={classes.top}>
        <PageTitle tab="Everybody's sessions">Everybody's sessions</PageTitle>
        {running && <span className={classes.quiet}>{plural(running.length, 'live session')}</span>}
      </div>
      <AdminNav />
      {error && <Notice tone="error">{sentence(error)}</Notice>}
      {running === undefined && !error && (
        <Skeleton height={200} radius="lg" aria-label="Loading" />
      )}
      {running?.length === 0 && (
        <Paper className={classes.none}>Nobody has a session just now.</Paper>
      )}
      {running && running.length > 0 && <AdminTable sessions={running} />}
    </>
  );
}
