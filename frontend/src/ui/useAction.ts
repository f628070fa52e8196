import { useState } from 'react';
import { showError } from './showError';

type RunAction = (what: () => Promise<unknown>) => Promise<boolean>;

/**
 * Run an action of a button: busy during the run, an error notification if it fails. Resolves to
 * whether it succeeded.
 */
export function useAction(): [busy: boolean, act: RunAction] {
  const [busy, setBusy] = useState(false);
  const act = async (what: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true);
    try {
      await what();
      return true;
    } catch (error) {
      showError(error);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return [busy, act];
}
