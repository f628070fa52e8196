import { t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import { Paper } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { sentence } from '@/api/problem';
import { isLive } from '@/live/reducer';
import { ListSkeleton } from '@/ui/ListSkeleton';
import { TryAgain } from '@/ui/TryAgain';
import { AdminFrame } from './AdminFrame';
import classes from './AdminPage.module.css';
import { AdminTable } from './AdminTable';
import { allSessionsQuery } from './queries';

/** The sessions of all users, for administrators. */
export function AdminPage() {
  return (
    <AdminFrame tab={t`All sessions`} title={t`All sessions`} aside={<LiveCount />}>
      <AllSessions />
    </AdminFrame>
  );
}

function LiveCount() {
  const { data } = useQuery(allSessionsQuery);
  if (data === undefined) return null;
  return (
    <span className={classes.quiet}>
      <Plural value={data.filter(isLive).length} one="# live session" other="# live sessions" />
    </span>
  );
}

function AllSessions() {
  const { data, error, refetch } = useQuery(allSessionsQuery);
  const running = data?.filter(isLive);
  return (
    <>
      {error && <TryAgain error={sentence(error)} onRetry={() => void refetch()} />}
      {running === undefined && !error && <ListSkeleton rows={5} />}
      {running?.length === 0 && (
        <Paper className={classes.none}>
          <Trans>No sessions are running.</Trans>
        </Paper>
      )}
      {running && running.length > 0 && <AdminTable sessions={running} />}
    </>
  );
}
