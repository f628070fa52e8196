import { useState } from 'react';
import { complain } from '@/ui/complain';

/** Runs an act from a button: busy meanwhile, a sentence if it fails. */
export function useAct(): [busy: boolean, act: (what: () => Promise<unknown>) => Promise<void>] {
  const [busy, setBusy] = useState(false);
  const act = async (what: () => Promise<unknown>): Promise<void> => {
    setBusy(true);
    try {
      await what();
    } catch (error) {
      complain(error);
    } finally {
      setBusy(false);
    }
  };
  return [busy, act];
}
