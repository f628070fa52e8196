/**
 * What a role may see and do on the administrators' pages. Pure; the portal checks every request
 * itself.
 */
import { t } from '@lingui/core/macro';
import type { Me } from '@/api/types';

type WithRole = Pick<Me, 'role'>;

/** Administrators, and viewers, who see the same and change nothing of it. */
export const seesAdmin = ({ role }: WithRole): boolean => role === 'admin' || role === 'viewer';

export const mayChange = ({ role }: WithRole): boolean => role === 'admin';

/** The words for a role, as in "Carol is …". */
export const ROLE_LABELS = {
  user: t({ message: 'user', context: 'a role' }),
  viewer: t({ message: 'viewer', context: 'a role' }),
  admin: t({ message: 'administrator', context: 'a role' }),
} as const;
