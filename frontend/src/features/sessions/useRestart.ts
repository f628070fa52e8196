import { useNavigate } from '@tanstack/react-router';
import type { Session } from '@/api/types';
import { stopSession } from './actions';

/** Stop the session, and open the page that starts it again once it has ended. */
export function useRestart({ id, name }: Session): () => Promise<void> {
  const navigate = useNavigate();
  return async () => {
    await stopSession(id);
    await navigate({ to: '/start-again/$name', params: { name }, search: { restart: id } });
  };
}
