/** The message shown when another user saved while a form was being edited. Pure. */
import { t } from '@lingui/core/macro';
import { ApiError } from '@/api/problem';

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Return which user saved and what the form contains now; null for another error. */
export function editConflictText(error: unknown, time: (at: string) => string): string | null {
  if (!(error instanceof ApiError) || error.slug !== 'edit-conflict') return null;
  const [by, at] = [text(error.more.changed_by), text(error.more.changed_at)];
  const who = by === '' ? t`Another user` : by;
  if (at === '')
    return t`${who} has saved this since you opened it. The form now has their changes and yours: check it, then save again.`;
  const when = time(at);
  return t`${who} has saved this since you opened it (${when}). The form now has their changes and yours: check it, then save again.`;
}
