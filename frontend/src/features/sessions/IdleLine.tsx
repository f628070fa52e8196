import type { Session } from '@/api/types';
import { useNow } from '@/lib/useNow';
import { Notice } from '@/ui/Notice';
import { idleText } from './idle';

/**
 * A notice that nothing has run for long, and which resources are held; nothing is ended for it.
 */
export function IdleLine({ session }: { session: Session }) {
  const now = useNow();
  const text = idleText(session, now);
  return text === null ? null : <Notice tone="info">{text}</Notice>;
}
