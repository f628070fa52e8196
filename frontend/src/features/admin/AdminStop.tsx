import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, unwrap } from '@/api/client';
import type { Session } from '@/api/types';
import { useWithPassword } from '@/features/account/reauth';
import { StopDialog } from '@/features/sessions/StopDialog';
import { useAct } from '@/features/sessions/useAct';
import { allSessionsQuery } from './queries';

/** Stops someone else's session, after a question, and a password if it was given long ago. */
export function AdminStop({ session }: { session: Session }) {
  const queries = useQueryClient();
  const withPassword = useWithPassword();
  const [asking, setAsking] = useState(false);
  const [busy, act] = useAct();
  const params = { path: { session_id: session.id } };

  const stop = async (): Promise<void> => {
    setAsking(false);
    await act(async () => {
      await withPassword(() =>
        unwrap(api.DELETE('/api/v1/admin/sessions/{session_id}', { params })),
      );
      notifications.show({ message: `Session ${session.name} of ${session.owner} is stopping.` });
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
        onClick={() => setAsking(true)}
        aria-label={`Stop session ${session.name} of ${session.owner}`}
      >
        Stop
      </Button>
      <StopDialog
        name={session.name}
        owner={session.owner}
        opened={asking}
        busy={busy}
        onStop={() => void stop()}
        onClose={() => setAsking(false)}
      />
    </>
  );
}
