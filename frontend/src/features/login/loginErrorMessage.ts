/** The message above the form when a login is refused. Pure. */
import { t } from '@lingui/core/macro';
import { ApiError, errorMessage, fieldMessage } from '@/api/problem';
import { translate } from '@/i18n/translate';
import { countdown } from '@/lib/time';

/** Return the message; null: none, or a field shows it. `waitS`: seconds until the next attempt is
 * allowed. */
export function loginErrorMessage(error: unknown, waitS: number): string | null {
  if (error === null) return null;
  if (fieldMessage(error, 'username') || fieldMessage(error, 'password')) return null;
  if (!(error instanceof ApiError)) return errorMessage(error);
  if (error.slug !== 'too-many-attempts') return translate(error.message);
  // The portal's own message contains a time that does not count down.
  if (error.retryAfterS === null) return errorMessage(error);
  return waitS > 0
    ? t`There were too many failed logins. Try again in ${{ time: countdown(waitS * 1000) }}.`
    : t`There were too many failed logins. You may try again now.`;
}
