import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { errorMessage } from '@/api/problem';
import type { App } from '@/api/types';
import { appsQuery, withApp } from './apps';

type Phase = 'none' | 'sending' | 'sent';

interface AppStartState {
  phase: Phase;
  refusal: string | null;
  start: () => Promise<void>;
}

/** Return how far a page's request to start an app is, why it was refused, and a function that sends
 * it. */
export function useAppStart(id: string, request: () => Promise<App>): AppStartState {
  const queries = useQueryClient();
  const [phase, setPhase] = useState<Phase>('none');
  const [refusal, setRefusal] = useState<string | null>(null);
  const start = async (): Promise<void> => {
    setPhase('sending');
    setRefusal(null);
    try {
      const started = await request();
      queries.setQueryData(appsQuery(id).queryKey, (shown) => shown && withApp(shown, started));
    } catch (error) {
      setRefusal(errorMessage(error));
    } finally {
      await queries.invalidateQueries(appsQuery(id));
      setPhase('sent');
    }
  };
  return { phase, refusal, start };
}
