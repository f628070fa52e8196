import { Button, Skeleton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { PageTitle } from '@/app/PageTitle';
import { ClusterPanel } from '@/features/cluster/ClusterPanel';
import { SessionCard } from '@/features/sessions/SessionCard';
import { isLive } from '@/live/reducer';
import { useLive } from '@/live/store';
import { Icon } from '@/ui/icons';
import { EarlierSessions } from './EarlierSessions';
import { EmptyHome } from './EmptyHome';
import classes from './HomePage.module.css';

/** One's sessions, and what the cluster has free. */
export function HomePage() {
  const sessions = useLive((s) => s.sessions);
  const running = sessions?.filter(isLive) ?? [];
  const ended = sessions?.filter((s) => !isLive(s)) ?? [];
  return (
    <>
      <div className={classes.top}>
        <PageTitle tab="Sessions">Your sessions</PageTitle>
        {running.length > 0 && (
          <Button component={Link} to="/start" leftSection={<Icon name="plus" />}>
            Start a session
          </Button>
        )}
      </div>
      <div className={classes.columns}>
        <div className={classes.list}>
          {sessions === null && <Skeleton height={170} radius="lg" aria-label="Loading" />}
          {sessions !== null && running.length === 0 && <EmptyHome first={ended.length === 0} />}
          {running.map((session) => (
            <SessionCard key={session.id} session={session} />
          ))}
          <EarlierSessions sessions={ended} />
        </div>
        <ClusterPanel />
      </div>
    </>
  );
}
