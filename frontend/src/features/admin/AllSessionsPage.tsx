import { t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { errorMessage } from '@/api/problem';
import type { Session } from '@/api/types';
import { stateLabel } from '@/features/sessions/labels';
import { translate, translateExact } from '@/i18n/translate';
import { gpuRequestText } from '@/lib/resourceLabels';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import { isActive } from '@/live/reducer';
import { CellNote, type Column, DataTable } from '@/ui/DataTable';
import { ListSkeleton } from '@/ui/ListSkeleton';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import { TryAgain } from '@/ui/TryAgain';
import { AdminFrame } from './AdminFrame';
import { AdminStop } from './AdminStop';
import classes from './AllSessionsPage.module.css';
import { allSessionsQuery } from './queries';

/** The sessions of all users, for administrators. */
export function AllSessionsPage() {
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
      <Plural
        value={data.filter(isActive).length}
        one="# active session"
        other="# active sessions"
      />
    </span>
  );
}

function AllSessions() {
  const change = mayChange(useMe());
  const { data, error, refetch } = useQuery(allSessionsQuery);
  const running = data?.filter(isActive);
  return (
    <>
      {error && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {running === undefined && !error && <ListSkeleton rows={5} />}
      {running && (
        <DataTable
          label={t`All sessions`}
          columns={COLUMNS}
          rows={running}
          rowKey={({ id }) => id}
          actions={
            change
              ? (session) => session.state !== 'stopping' && <AdminStop session={session} />
              : undefined
          }
          empty={<Trans>No sessions are running.</Trans>}
        />
      )}
    </>
  );
}

const COLUMNS: Column<Session>[] = [
  {
    id: 'owner',
    header: <Trans context="sessions">User</Trans>,
    cell: ({ owner }) => owner,
    rowHeader: true,
  },
  {
    id: 'session',
    header: t`Session`,
    cell: ({ name, environment_title: environment, job_id: job }) => (
      <>
        {name}
        <CellNote>
          {translateExact(environment)}
          {job !== null && ` · ${t`job ${job}`}`}
        </CellNote>
      </>
    ),
  },
  {
    id: 'state',
    header: t`State`,
    cell: (session) => (
      <>
        <StateChip {...stateLabel(session)} />
        {session.state === 'queued' && session.reason && (
          <CellNote>{translate(session.reason)}</CellNote>
        )}
      </>
    ),
  },
  {
    id: 'node',
    header: t`Node`,
    cell: ({ node }) => node ?? '–',
    narrowLabeled: true,
    isEmpty: ({ node }) => node === null,
  },
  {
    id: 'gpus',
    header: t`GPUs`,
    cell: ({ resources }) => (resources.gpus ? gpuRequestText(resources) : t`none`),
    narrowLabeled: true,
  },
  {
    id: 'until',
    header: t`Until`,
    cell: ({ expires_at: end }) => (end ? <Time at={end} /> : '–'),
    narrowLabeled: true,
    isEmpty: ({ expires_at: end }) => !end,
  },
];
