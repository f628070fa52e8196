import { useState } from 'react';
import { showError } from './showError';

type RunAction = (action: () => Promise<unknown>) => Promise<boolean>;

/**
 * Run an action of a button: busy during the run, an error notification if it fails. Resolves to
 * whether it succeeded.
 */
export function useAction(): [busy: boolean, act: RunAction] {
  const [busy, setBusy] = useState(false);
  const run = async (action: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true);
    try {
      await action();
      return true;
    } catch (error) {
      showError(error);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return [busy, run];
}
