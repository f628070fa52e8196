/** What can be seen to be wrong with a new password before the directory is asked. Pure. */
import { t } from '@lingui/core/macro';

/** The portal's own limit, in portal/directory/contract.py. */
export const MAX_PASSWORD_LENGTH = 1024;

export interface Problems {
  fresh?: string;
  again?: string;
}

/** `current` is the one it takes the place of. */
export function newPasswordProblems(current: string, fresh: string, again: string): Problems {
  if (fresh === '') return { fresh: t`Enter a new password.` };
  if ([...fresh].length > MAX_PASSWORD_LENGTH)
    return { fresh: t`A password has at most ${{ most: MAX_PASSWORD_LENGTH }} characters.` };
  if (fresh === current) return { fresh: t`This is the one-time password. Choose another one.` };
  return fresh === again ? {} : { again: t`The two are not the same.` };
}
