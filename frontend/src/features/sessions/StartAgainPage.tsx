import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Stack, Text } from '@mantine/core';
import { Link, useLocation, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Suspense, useEffect } from 'react';
import type { Session } from '@/api/types';
import { type OpenWith, readOpenWith } from '@/features/apps/openWith';
import { translateExact } from '@/i18n/translate';
import { isActive } from '@/live/reducer';
import { useLive } from '@/live/store';
import { lazyPart } from '@/ui/lazyPart';
import { NotFoundPage } from '@/ui/NotFoundPage';
import { PageTitle } from '@/ui/PageTitle';
import { PendingPage } from '@/ui/PendingPage';
import plain from '@/ui/PlainPage.module.css';
import { useAction } from '@/ui/useAction';
import { startAgain } from './actions';
import { labUrl } from './labels';
import { SessionCard } from './SessionCard';

const AppOpening = lazyPart(async () => (await import('@/features/apps/AppOpening')).AppOpening);

/** Open JupyterLab, with the session's starter notebook if it has one, as soon as the session runs. */
function useOpenWhenRunning(session: Session | undefined): void {
  const url = session?.state === 'running' ? labUrl(session) : null;
  useEffect(() => {
    if (url) window.location.replace(url);
  }, [url]);
}

/** Start a session that is being restarted, once it has ended. Return whether it still has to end. */
function useStartAgain(session: Session | undefined): boolean {
  const { restart } = useSearch({ from: '/signed-in/start-again/$name' });
  const navigate = useNavigate();
  const [, run] = useAction();
  const waiting = session !== undefined && session.id === restart;
  useEffect(() => {
    if (!waiting || isActive(session)) return;
    void run(() => startAgain(session));
    // reloading the page starts nothing
    void navigate({ to: '.', search: {}, replace: true });
  }, [waiting, session, run, navigate]);
  return waiting;
}

function title(session: Session, restarting: boolean): string {
  const { name, state } = session;
  if (restarting) return t`Restarting ${name}`;
  if (state === 'running') return t`${name} is running`;
  return isActive(session) ? t`Starting ${name}` : t`${name} isn't running`;
}

function explanation(session: Session, restarting: boolean, openWith: OpenWith | null): string {
  if (restarting) return t`It starts again as soon as it has ended. Keep this page open.`;
  if (!isActive(session))
    return t`Your files are safe; only the session has ended. Start it again to continue.`;
  if (openWith === null) return t`This page opens JupyterLab automatically as soon as it responds.`;
  return session.state === 'running'
    ? t`JupyterLab stays available from the session's card.`
    : t`This page opens ${{ app: translateExact(openWith.title) }} automatically as soon as it is ready.`;
}

/** The page of a session that is starting, or that was opened while it is not running. */
export function StartAgainPage() {
  const { name } = useParams({ from: '/signed-in/start-again/$name' });
  const sessions = useLive((s) => s.sessions);
  const named = sessions?.filter((s) => s.name === name) ?? [];
  const session = named.find(isActive) ?? named[0];
  const restarting = useStartAgain(session);
  const openWith = useLocation({ select: ({ state }) => readOpenWith(state) });
  useOpenWhenRunning(restarting || openWith ? undefined : session);
  if (sessions === null) return <PendingPage />;
  if (session === undefined) return <NotFoundPage />;
  return (
    <div className={plain.center}>
      <Stack gap="md" w="100%" maw={560}>
        <PageTitle tab={title(session, restarting)}>{title(session, restarting)}</PageTitle>
        <Text c="dimmed">{explanation(session, restarting, openWith)}</Text>
        {openWith && isActive(session) && !restarting && (
          <Suspense>
            <AppOpening key={session.id} session={session} openWith={openWith} />
          </Suspense>
        )}
        <SessionCard session={session} level="h2" />
        <Button component={Link} to="/" variant="subtle" w="fit-content">
          <Trans>Your sessions</Trans>
        </Button>
      </Stack>
    </div>
  );
}
