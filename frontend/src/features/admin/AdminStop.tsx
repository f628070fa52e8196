import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, unwrap } from '@/api/client';
import type { Session } from '@/api/types';
import { StopDialog } from '@/features/sessions/StopDialog';
import { useWithPassword } from '@/lib/reauth';
import { useAction } from '@/ui/useAction';
import { allSessionsQuery } from './queries';

/** The button that stops another user's session, after confirmation and possibly the password. */
export function AdminStop({ session }: { session: Session }) {
  const { name, owner } = session;
  const queries = useQueryClient();
  const withPassword = useWithPassword();
  const [confirming, setConfirming] = useState(false);
  const [busy, run] = useAction();
  const params = { path: { session_id: session.id } };

  const stop = async (): Promise<void> => {
    setConfirming(false);
    await run(async () => {
      await withPassword(() =>
        unwrap(api.DELETE('/api/v1/admin/sessions/{session_id}', { params })),
      );
      notifications.show({ message: t`Session ${name} of ${owner} is stopping.` });
      await queries.invalidateQueries(allSessionsQuery);
    });
  };

  return (
    <>
      <Button
        variant="subtle"
        color="red"
        c="var(--bad)"
        size="compact-sm"
        loading={busy}
        onClick={() => setConfirming(true)}
        aria-label={t`Stop session ${name} of ${owner}`}
      >
        <Trans>Stop</Trans>
      </Button>
      <StopDialog
        name={name}
        owner={owner}
        opened={confirming}
        busy={busy}
        onStop={() => void stop()}
        onClose={() => setConfirming(false)}
      />
    </>
  );
}
