/**
 * The permissions of roles on the administrators' pages. Pure; the portal checks every request
 * itself.
 */
import { t } from '@lingui/core/macro';
import type { Me } from '@/api/types';

type WithRole = Pick<Me, 'role'>;

/** Return whether the role may see the administrators' pages: viewers see them but cannot change
 * anything. */
export const seesAdmin = ({ role }: WithRole): boolean => role === 'admin' || role === 'viewer';

export const mayChange = ({ role }: WithRole): boolean => role === 'admin';

/** Labels of the roles, as in "Carol is …". */
export const ROLE_LABELS = {
  user: t({ message: 'user', context: 'a role' }),
  viewer: t({ message: 'viewer', context: 'a role' }),
  admin: t({ message: 'administrator', context: 'a role' }),
} as const;
