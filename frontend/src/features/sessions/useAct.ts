import { useState } from 'react';
import { complain } from '@/ui/complain';

type Act = (what: () => Promise<unknown>) => Promise<boolean>;

/** Runs an act from a button: busy meanwhile, a sentence if it fails. Answers whether it was done. */
export function useAct(): [busy: boolean, act: Act] {
  const [busy, setBusy] = useState(false);
  const act = async (what: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true);
    try {
      await what();
      return true;
    } catch (error) {
      complain(error);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return [busy, act];
}
