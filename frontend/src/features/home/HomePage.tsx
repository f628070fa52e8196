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
import { HomeJobs } from './HomeJobs';
import classes from './HomePage.module.css';
import { MySpace, MyUse } from './MyShare';
import { StartAgain } from './StartAgain';

/** One's sessions and jobs, the setups one starts with, what is free and what one may have of it. */
export function HomePage() {
  const sessions = useLive((s) => s.sessions);
  const running = sessions?.filter(isLive) ?? [];
  const ended = sessions?.filter((s) => !isLive(s)) ?? [];
  const empty = sessions !== null && running.length === 0;
  return (
    <>
      <div className={classes.top}>
        <PageTitle tab="Home">Home</PageTitle>
        {!empty && (
          <Button component={Link} to="/start" leftSection={<Icon name="plus" />}>
            Start a session
          </Button>
        )}
      </div>
      <div className={classes.columns}>
        <div className={classes.sections}>
          <section aria-labelledby="your-sessions">
            <h2 className={classes.heading} id="your-sessions">
              Your sessions
            </h2>
            <div className={classes.list}>
              {sessions === null && <Skeleton height={170} radius="lg" aria-label="Loading" />}
              {empty && <EmptyHome first={ended.length === 0} />}
              {running.map((session) => (
                <SessionCard key={session.id} session={session} />
              ))}
            </div>
          </section>
          <StartAgain />
          <HomeJobs />
          <EarlierSessions sessions={ended} />
        </div>
        <div className={classes.side}>
          <ClusterPanel />
          <MyUse />
          <MySpace />
        </div>
      </div>
    </>
  );
}
