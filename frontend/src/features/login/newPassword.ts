/** Checks of a new password that need no request. Pure. */
import { t } from '@lingui/core/macro';

export interface NewPasswordErrors {
  fresh?: string;
  again?: string;
}

/** Return the problems; `current` is the password that is replaced. */
export function checkNewPassword(current: string, fresh: string, again: string): NewPasswordErrors {
  if (fresh === '') return { fresh: t`Enter a new password.` };
  if (fresh === current) return { fresh: t`This is the one-time password. Choose another one.` };
  return fresh === again ? {} : { again: t`The passwords don't match.` };
}
