import { useWithPassword, type WithPassword } from '@/lib/reauth';
import { useAction } from './useAction';

interface Changing {
  busy: boolean;
  /** Does it, asks for the password first where the portal wants it, and says so if it failed.
   * Answers whether it was done. */
  change: (act: () => Promise<unknown>) => Promise<boolean>;
  withPassword: WithPassword;
}

/** For small changes without a dialog of their own; not twice at once. */
export function useChange(): Changing {
  const withPassword = useWithPassword();
  const [busy, act] = useAction();
  return {
    busy,
    change: async (what) => !busy && (await act(() => withPassword(what))),
    withPassword,
  };
}
