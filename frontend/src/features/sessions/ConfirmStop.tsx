import type { Session } from '@/api/types';
import { useAction } from '@/ui/useAction';
import { stopSession } from './actions';
import { isRunningOrSuspended } from './labels';
import { StopDialog } from './StopDialog';
import { useRestart } from './useRestart';

interface Props {
  session: Session;
  opened: boolean;
  onClose: () => void;
}

/** The dialog that confirms and stops one of the user's sessions. */
export function ConfirmStop({ session, opened, onClose }: Props) {
  const [busy, run] = useAction();
  const restart = useRestart(session);
  const started = isRunningOrSuspended(session);
  const stop = async (): Promise<void> => {
    await run(() => stopSession(session.id));
    onClose();
  };
  const stopAndStart = (): void => {
    onClose();
    void run(restart);
  };
  return (
    <StopDialog
      name={session.name}
      opened={opened}
      busy={busy}
      pending={!started}
      onStop={() => void stop()}
      onRestart={started ? stopAndStart : undefined}
      onClose={onClose}
    />
  );
}
