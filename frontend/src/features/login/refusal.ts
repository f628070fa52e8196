/** What to say above the form when a login is refused. Pure. */
import { t } from '@lingui/core/macro';
import { ApiError, fieldMessage, sentence } from '@/api/problem';
import { translate } from '@/i18n/translate';
import { countdown } from '@/lib/time';

/** null: nothing to say, or a field says it. `waitS` are the seconds until one may try again. */
export function loginRefusal(error: unknown, waitS: number): string | null {
  if (error === null) return null;
  if (fieldMessage(error, 'username') || fieldMessage(error, 'password')) return null;
  if (!(error instanceof ApiError)) return sentence(error);
  if (error.slug !== 'too-many-attempts') return translate(error.message);
  // The portal's own sentence names a time that doesn't count down.
  if (error.retryAfterS === null) return sentence(error);
  return waitS > 0
    ? t`There were too many failed logins. Try again in ${{ time: countdown(waitS * 1000) }}.`
    : t`There were too many failed logins. You may try again now.`;
}
