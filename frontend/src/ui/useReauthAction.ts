import { useWithPassword, type WithPassword } from '@/lib/reauth';
import { useAction } from './useAction';

interface Changing {
  busy: boolean;
  /** runs an action, asks for the password if the portal requires it, and shows an error if it
   * fails; resolves to whether it succeeded */
  change: (action: () => Promise<unknown>) => Promise<boolean>;
  withPassword: WithPassword;
}

/** A runner for small changes without a dialog; one at a time. */
export function useReauthAction(): Changing {
  const withPassword = useWithPassword();
  const [busy, run] = useAction();
  return {
    busy,
    change: async (action) => !busy && (await run(() => withPassword(action))),
    withPassword,
  };
}
