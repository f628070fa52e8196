import { Paper, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { sentence } from '@/api/problem';
import { plural } from '@/features/sessions/words';
import { isLive } from '@/live/reducer';
import { Notice } from '@/ui/Notice';
import { AdminFrame } from './AdminFrame';
import classes from './AdminPage.module.css';
import { AdminTable } from './AdminTable';
import { allSessionsQuery } from './queries';

/** Everybody's sessions, for administrators. */
export function AdminPage() {
  return (
    <AdminFrame tab="Everybody's sessions" title="Everybody's sessions" aside={<LiveCount />}>
      <AllSessions />
    </AdminFrame>
  );
}

function LiveCount() {
  const { data } = useQuery(allSessionsQuery);
  if (data === undefined) return null;
  return (
    <span className={classes.quiet}>{plural(data.filter(isLive).length, 'live session')}</span>
  );
}

function AllSessions() {
  const { data, error } = useQuery(allSessionsQuery);
  const running = data?.filter(isLive);
  return (
    <>
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
