import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Stack, Text } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import type { Session } from '@/api/types';
import { isLive } from '@/live/reducer';
import { useLive } from '@/live/store';
import { NotFoundPage } from '@/ui/NotFoundPage';
import { PageTitle } from '@/ui/PageTitle';
import { PendingPage } from '@/ui/PendingPage';
import plain from '@/ui/PlainPage.module.css';
import { labUrl } from './labels';
import { SessionCard } from './SessionCard';

/** Opens JupyterLab as soon as the session answers, with the notebook to begin with. */
function useOpenWhenRunning(session: Session | undefined): void {
  const url = session?.state === 'running' ? labUrl(session) : null;
  useEffect(() => {
    if (url) window.location.replace(url);
  }, [url]);
}

/** For a session that is being started, and for one that someone wants to open and isn't running. */
export function NotRunningPage() {
  const { name } = useParams({ from: '/member/start-again/$name' });
  const sessions = useLive((s) => s.sessions);
  const named = sessions?.filter((s) => s.name === name) ?? [];
  const session = named.find(isLive) ?? named[0];
  useOpenWhenRunning(session);
  if (sessions === null) return <PendingPage />;
  if (session === undefined) return <NotFoundPage />;
  return (
    <div className={plain.center}>
      <Stack gap="md" w="100%" maw={560}>
        <PageTitle tab={isLive(session) ? t`Starting ${name}` : t`${name} isn't running`}>
          {isLive(session) ? t`Starting ${name}` : t`${name} isn't running`}
        </PageTitle>
        <Text c="dimmed">
          {isLive(session)
            ? t`This page opens JupyterLab automatically as soon as it responds.`
            : t`Your files are safe; only the session has ended. Start it again to continue.`}
        </Text>
        <SessionCard session={session} />

        <Button component={Link} to="/" variant="subtle" w="fit-content">
          <Trans>Your sessions</Trans>
        </Button>
      </Stack>
    </div>
  );
}
