import type { Session } from '@/api/types';
import { useNow } from '@/lib/useNow';
import { Notice } from '@/ui/Notice';
import { idleWords } from './idle';

/** That nothing has run for long, and what is held meanwhile; nothing is ended for it. */
export function IdleLine({ session }: { session: Session }) {
  const now = useNow();
  const words = idleWords(session, now);
  return words === null ? null : <Notice tone="info">{words}</Notice>;
}
