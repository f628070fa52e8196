import { type ReactNode, useCallback, useState } from 'react';
import { ReauthContext, type WithPassword } from '@/lib/reauth';
import { Cancelled } from '@/ui/showError';
import { runWithPassword } from './passwordAgain';
import { ReauthDialog } from './ReauthDialog';

interface PasswordPrompt {
  confirm: () => void;
  cancel: () => void;
}

export function ReauthProvider({ children }: { children: ReactNode }) {
  const [prompt, setPrompt] = useState<PasswordPrompt | null>(null);

  const askForPassword = useCallback(
    () =>
      new Promise<void>((resolve, reject) => {
        setPrompt({ confirm: resolve, cancel: () => reject(new Cancelled()) });
      }).finally(() => setPrompt(null)),
    [],
  );

  const withPassword: WithPassword = useCallback(
    (action) => runWithPassword(action, askForPassword),
    [askForPassword],
  );

  return (
    <ReauthContext value={withPassword}>
      {children}
      <ReauthDialog
        opened={prompt !== null}
        onGiven={() => prompt?.confirm()}
        onCancel={() => prompt?.cancel()}
      />
    </ReauthContext>
  );
}
