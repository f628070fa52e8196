import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { Suspense, useState } from 'react';
import { ApiError, errorMessage } from '@/api/problem';
import type { Session } from '@/api/types';
import { translateExact } from '@/i18n/translate';
import { keepsRunning } from '@/live/keepsRunning';
import { FailedPage } from '@/ui/FailedPage';
import { Fold } from '@/ui/Fold';
import { lazyPart } from '@/ui/lazyPart';
import { NotFoundPage } from '@/ui/NotFoundPage';
import { Notice } from '@/ui/Notice';
import head from '@/ui/PageHead.module.css';
import { PageSkeleton } from '@/ui/PageSkeleton';
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

const SessionMetrics = lazyPart(async () => (await import('./SessionMetrics')).SessionMetrics);
const SessionApps = lazyPart(async () => (await import('@/features/apps/SessionApps')).SessionApps);
const SshSetup = lazyPart(async () => (await import('./SshSetup')).SshSetup);

/** The page of a session. */
export function SessionPage() {
  const { id } = useParams({ from: '/signed-in/sessions/$id' });
  const { session, error, retry } = useAnySession(id);
  if (session) return <Detail key={session.id} session={session} />;
  if (error instanceof ApiError && error.status === 404) return <NotFoundPage />;
  if (error)
    return (
      <FailedPage
        back={<BackHome />}
        title={t`Session`}
        error={errorMessage(error)}
        onRetry={retry}
      />
    );
  return <PageSkeleton />;
}

function BackHome() {
  return (
    <Link to="/" className={head.back}>
      ← <Trans>Home</Trans>
    </Link>
  );
}

function Detail({ session }: { session: Session }) {
  const started = session.started_at !== null;
  const ready = session.ready_at !== null;
  const running = useKeepsRunning(session);
  return (
    <>
      <BackHome />
      <div className={head.top}>
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
                Last known state: Slurm has not responded since <Time at={session.stale_since} />.
              </Trans>
            </Notice>
          )}
          <SessionStatus session={session} />
          <StopRequest session={session} />
        </div>
        {started && <UsageSection session={session} />}
        {started && (
          <Suspense>
            <SessionMetrics session={session} />
          </Suspense>
        )}
        <FactBoxes session={session} />
        <Packages session={session} />
        {running && <Notebooks id={session.id} />}
        {running && <AppsFold session={session} />}
        {running && <SshFold session={session} />}
        {ready && <StartFold session={session} />}
        {started && <LogSection session={session} />}
      </div>
    </>
  );
}

/** Return whether the page shows the sections of a running session: also in the seconds in which
 * JupyterHub, which has lost its server, recovers it. */
function useKeepsRunning(session: Session): boolean {
  const [hasRun, setHasRun] = useState(false);
  if (session.state === 'running' && !hasRun) setHasRun(true);
  return keepsRunning(session, hasRun);
}

/** The apps of a running session; loaded once the section is opened. */
function AppsFold({ session }: { session: Session }) {
  const { apps = false } = useSearch({ from: '/signed-in/sessions/$id' });
  const [open, setOpen] = useState<boolean>(apps);
  return (
    <Fold summary={t`Apps`} open={open} onToggle={setOpen}>
      {open && (
        <Suspense>
          <SessionApps id={session.id} />
        </Suspense>
      )}
    </Fold>
  );
}

/** The setup of SSH connections; loaded once the section is opened. */
function SshFold({ session }: { session: Session }) {
  const [open, setOpen] = useState(false);
  return (
    <Fold summary={t`Connect by SSH`} open={open} onToggle={setOpen}>
      {open && (
        <Suspense>
          <SshSetup id={session.id} />
        </Suspense>
      )}
    </Fold>
  );
}

/** The steps of a completed start, collapsed. */
function StartFold({ session }: { session: Session }) {
  return (
    <div className={classes.start}>
      <Fold summary={t`Start-up details`}>
        <StartSteps session={session} />
      </Fold>
    </div>
  );
}
