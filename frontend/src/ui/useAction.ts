import { useState } from 'react';
import { keepFocus } from './focus';
import { showError } from './showError';

type RunAction = (action: () => Promise<unknown>) => Promise<boolean>;

/**
 * Run an action of a button: busy during the run, an error notification if it fails. Resolves to
 * whether it succeeded. A button that was disabled by it gets the focus back.
 */
export function useAction(): [busy: boolean, act: RunAction] {
  const [busy, setBusy] = useState(false);
  const run = async (action: () => Promise<unknown>): Promise<boolean> => {
    const refocus = keepFocus();
    setBusy(true);
    try {
      await action();
      return true;
    } catch (error) {
      showError(error);
      return false;
    } finally {
      setBusy(false);
      refocus();
    }
  };
  return [busy, run];
}
