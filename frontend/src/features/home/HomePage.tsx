import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Skeleton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { ClusterPanel } from '@/features/cluster/ClusterPanel';
import { SessionCard } from '@/features/sessions/SessionCard';
import { isActive } from '@/live/reducer';
import { useLive } from '@/live/store';
import { Icon } from '@/ui/icons';
import { PageTitle } from '@/ui/PageTitle';
import { EarlierSessions } from './EarlierSessions';
import { EmptyHome } from './EmptyHome';
import { HomeJobs } from './HomeJobs';
import classes from './HomePage.module.css';
import { StartAgain } from './StartAgain';
import { CurrentUsage, StorageSpace } from './UsageAndStorage';
import { UsageStrip } from './UsageStrip';

/** The user's sessions and jobs, saved setups, free resources and limits. */
export function HomePage() {
  const sessions = useLive((s) => s.sessions);
  const running = sessions?.filter(isActive) ?? [];
  const ended = sessions?.filter((s) => !isActive(s)) ?? [];
  const empty = sessions !== null && running.length === 0;
  return (
    <>
      <div className={classes.top}>
        <PageTitle tab={t`Home`}>
          <Trans>Home</Trans>
        </PageTitle>
        {!empty && (
          <Button component={Link} to="/start" leftSection={<Icon name="plus" />}>
            <Trans>Start a session</Trans>
          </Button>
        )}
      </div>
      <UsageStrip />
      <div className={classes.columns}>
        <div className={classes.sections}>
          <section aria-labelledby="your-sessions">
            <h2 className={classes.heading} id="your-sessions">
              <Trans>Your sessions</Trans>
            </h2>
            <div className={classes.list}>
              {sessions === null && <Skeleton height={170} radius="lg" aria-label={t`Loading`} />}
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
          <CurrentUsage />
          <StorageSpace />
        </div>
      </div>
    </>
  );
}
