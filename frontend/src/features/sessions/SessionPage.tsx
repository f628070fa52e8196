import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Skeleton } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { ApiError, sentence } from '@/api/problem';
import type { Session } from '@/api/types';
import logClasses from '@/features/log/LogPage.module.css';
import { translateExact } from '@/i18n/translate';
import { Fold } from '@/ui/Fold';
import { NotFoundPage } from '@/ui/NotFoundPage';
import { Notice } from '@/ui/Notice';
import { PageTitle } from '@/ui/PageTitle';
import { StateChip } from '@/ui/StateChip';
import { Time } from '@/ui/Time';
import { FactBoxes } from './FactBoxes';
import { LogSection } from './LogSection';
import { stateLabel } from './labels';
import { Notebooks } from './Notebooks';
import { Packages } from './Packages';
import classes from './SessionPage.module.css';
import { SessionStatus } from './SessionStatus';
import { StartSteps } from './StartSteps';
import { StopRequest } from './StopRequest';
import { UsageSection } from './UsageSection';
import { useAnySession } from './useAnySession';

/** Everything about one session. */
export function SessionPage() {
  const { id } = useParams({ from: '/member/sessions/$id' });
  const { session, error } = useAnySession(id);
  if (session) return <Detail key={session.id} session={session} />;
  if (error instanceof ApiError && error.status === 404) return <NotFoundPage />;
  if (error) return <Notice tone="error">{sentence(error)}</Notice>;
  return <Skeleton height={320} radius="lg" aria-label={t`Loading`} />;
}

function Detail({ session }: { session: Session }) {
  const started = session.started_at !== null;
  const ready = session.ready_at !== null;
  return (
    <>
      <Link to="/" className={logClasses.back}>
        ← <Trans>Home</Trans>
      </Link>
      <div className={logClasses.top}>
        <PageTitle tab={t`Session ${{ name: session.name }}`}>{session.name}</PageTitle>
        <span className={classes.quiet}>{translateExact(session.environment_title)}</span>
        <span aria-live="polite">
          <StateChip {...stateLabel(session)} />
        </span>
      </div>
      <div className={classes.page}>
        <div className={classes.now}>
          {session.stale_since && session.state !== 'ended' && (
            <Notice tone="warning">
              <Trans>
                Last known state: Slurm has not answered since <Time at={session.stale_since} />.
              </Trans>
            </Notice>
          )}
          <SessionStatus session={session} />
          <StopRequest session={session} />
        </div>
        {started && <UsageSection session={session} />}
        <FactBoxes session={session} />
        <Packages session={session} />
        {session.state === 'running' && <Notebooks id={session.id} />}
        {ready && <StartFold session={session} />}
        {started && <LogSection session={session} />}
      </div>
    </>
  );
}

/** How the start went, once it is over. */
function StartFold({ session }: { session: Session }) {
  return (
    <div className={classes.start}>
      <Fold summary={t`Start-up details`}>
        <StartSteps session={session} />
      </Fold>
    </div>
  );
}
