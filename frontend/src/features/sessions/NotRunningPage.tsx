import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Stack, Text } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import type { Session } from '@/api/types';
import { NotFoundPage } from '@/app/NotFoundPage';
import { PageTitle } from '@/app/PageTitle';
import { PendingPage } from '@/app/PendingPage';
import plain from '@/app/plain.module.css';
import { isLive } from '@/live/reducer';
import { useLive } from '@/live/store';
import { SessionCard } from './SessionCard';

/** Opens JupyterLab as soon as the session answers. */
function useOpenWhenRunning(session: Session | undefined): void {
  const url = session?.state === 'running' ? session.url : null;
  useEffect(() => {
    if (url) window.location.replace(url);
  }, [url]);
}

/** For someone who wanted to open a session that isn't running. */
export function NotRunningPage() {
  const { name } = useParams({ from: '/member/start-again/$name' });
  const sessions = useLive((s) => s.sessions);
  const session = sessions?.find((s) => s.name === name);
  useOpenWhenRunning(session);
  if (sessions === null) return <PendingPage />;
  if (session === undefined) return <NotFoundPage />;
  return (
    <div className={plain.center}>
      <Stack gap="md" w="100%" maw={560}>
        <PageTitle tab={t`${name} isn't running`}>
          {isLive(session) ? t`${name} isn't ready yet` : t`${name} isn't running`}
        </PageTitle>
        <Text c="dimmed">
          {isLive(session)
            ? t`This page opens JupyterLab by itself as soon as it answers.`
            : t`Your files are safe; only the session has ended. Start it again to go on.`}
        </Text>
        <SessionCard session={session} />

        <Button component={Link} to="/" variant="subtle" w="fit-content">
          <Trans>Your sessions</Trans>
        </Button>
      </Stack>
    </div>
  );
}
