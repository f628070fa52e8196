import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Session } from '@/api/types';
import { ConfirmStop } from './ConfirmStop';
import { isRunningOrSuspended } from './labels';

/** The stop dialog, when opened by a link in the session's JupyterLab. */
export function StopRequest({ session }: { session: Session }) {
  const { stop } = useSearch({ from: '/signed-in/sessions/$id' });
  const navigate = useNavigate();
  const close = (): void =>
    void navigate({
      to: '/sessions/$id',
      params: { id: session.id },
      search: {},
      replace: true,
    });
  return (
    <ConfirmStop
      session={session}
      opened={stop === true && isRunningOrSuspended(session)}
      onClose={close}
    />
  );
}
