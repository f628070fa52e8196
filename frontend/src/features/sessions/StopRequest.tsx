import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Session } from '@/api/types';
import { useAction } from '@/ui/useAction';
import { stopSession } from './actions';
import { StopDialog } from './StopDialog';

/** Asks whether to stop the session when its JupyterLab has linked here to stop it. */
export function StopRequest({ session }: { session: Session }) {
  const { stop } = useSearch({ from: '/member/sessions/$id' });
  const navigate = useNavigate();
  const [busy, act] = useAction();
  const { id, name, state } = session;
  const close = (): void =>
    void navigate({ to: '/sessions/$id', params: { id }, search: {}, replace: true });
  const stopNow = async (): Promise<void> => {
    await act(() => stopSession(id));
    close();
  };
  return (
    <StopDialog
      name={name}
      opened={stop === true && (state === 'running' || state === 'suspended')}
      busy={busy}
      onStop={() => void stopNow()}
      onClose={close}
    />
  );
}
