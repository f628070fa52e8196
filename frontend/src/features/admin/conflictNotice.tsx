import { clock } from '@/lib/clock';
import { localTime } from '@/lib/time';
import { Notice } from '@/ui/Notice';
import { editConflictText } from './editConflict';

/** Return the message of a form that another user saved first; undefined for another refusal. */
export function conflictNotice(refusal: unknown) {
  const text = editConflictText(refusal, (at) => localTime(at, clock.now()));
  return text === null ? undefined : <Notice tone="error">{text}</Notice>;
}
