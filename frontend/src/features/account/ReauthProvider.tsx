import { type ReactNode, useCallback, useState } from 'react';
import { ReauthContext, type WithPassword } from '@/lib/reauth';
import { Cancelled } from '@/ui/showError';
import { runWithPassword } from './passwordAgain';
import { ReauthDialog } from './ReauthDialog';

interface Asking {
  given: () => void;
  cancelled: () => void;
}

export function ReauthProvider({ children }: { children: ReactNode }) {
  const [asking, setAsking] = useState<Asking | null>(null);

  const askForPassword = useCallback(
    () =>
      new Promise<void>((resolve, reject) => {
        setAsking({ given: resolve, cancelled: () => reject(new Cancelled()) });
      }).finally(() => setAsking(null)),
    [],
  );

  const withPassword: WithPassword = useCallback(
    (act) => runWithPassword(act, askForPassword),
    [askForPassword],
  );

  return (
    <ReauthContext value={withPassword}>
      {children}
      <ReauthDialog
        opened={asking !== null}
        onGiven={() => asking?.given()}
        onCancel={() => asking?.cancelled()}
      />
    </ReauthContext>
  );
}
