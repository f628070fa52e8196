import { clock } from '@/lib/clock';
import { localTime } from '@/lib/time';
import { editConflictText } from './editConflict';
import { Notice } from './Notice';

/** Return the message of a form that another user saved first; undefined for another error. */
export function conflictNotice(error: unknown) {
  const text = editConflictText(error, (at) => localTime(at, clock.now()));
  return text === null ? undefined : <Notice tone="error">{text}</Notice>;
}
