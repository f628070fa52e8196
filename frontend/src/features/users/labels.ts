/** Labels of users: their states, roles, actions and deprovisioning. Pure. */
import { plural, t } from '@lingui/core/macro';
import type { Ability, Capabilities } from '@/features/directory/capabilities';
import { can } from '@/features/directory/capabilities';
import { joinWithOr } from '@/i18n/lists';
import { translate } from '@/i18n/translate';
import { ROLE_LABELS } from '@/lib/roles';
import type { StateLabel } from '@/ui/StateChip';
import type { Filter } from './filters';
import type { Check, HomeRun, Role, User, UserRow } from './types';

/** Return the text for a filter without matches. */
export function noMatchText(filter: Filter): string {
  switch (filter) {
    case 'disabled':
      return t`No users are disabled.`;
    case 'admins':
      return t`No administrator has logged in yet.`;
    case 'viewers':
      return t`There are no viewers. A viewer sees all these pages but can't change anything.`;
    case 'missing':
      return t`All users of the portal are in the directory.`;
    case 'deleted':
      return t`No users have been deleted.`;
    default:
      return t`There are no users in the directory yet.`;
  }
}

export const usersText = (n: number): string => plural(n, { one: '# user', other: '# users' });

/** Return the most important of the user's states. */
export function userStateLabel(row: UserRow): StateLabel {
  if (row.deleted_at) return { label: t`Deleted`, tone: 'quiet' };
  if (row.disabled) return { label: t`Disabled`, tone: 'bad' };
  if (!row.in_directory) return { label: t`Removed from the directory`, tone: 'waiting' };
  if (row.unmanaged) return { label: t`Not managed`, tone: 'quiet' };
  if (row.locked) return { label: t`Locked`, tone: 'waiting' };
  if (row.admitted === false) return { label: t`Can't log in`, tone: 'bad' };
  if (row.must_change_password) return { label: t`One-time password`, tone: 'quiet' };
  return { label: t`Active`, tone: 'good' };
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Return a role's label. A role of null (no record in the portal before the first login) is labeled
 * as an ordinary user. */
export const roleText = (role: Role | null, admitted: boolean | null): string =>
  admitted === false ? t`None` : capital(ROLE_LABELS[role ?? 'user']);

/** Return the source of a role, which explains why it cannot be revoked here. */
export function roleReason(
  user: Pick<User, 'role' | 'directory_role' | 'granted_role' | 'granted_by' | 'admitted'>,
): string {
  if (user.admitted === false)
    return t`They can't log in: they are not in any group that may use the portal.`;
  if (user.role === null) return t`The directory groups determine this at the first login.`;
  if (user.role === 'user') return t`Everyone who can log in has this role.`;
  const directory = user.directory_role === user.role;
  const granted = user.granted_role === user.role;
  const by = user.granted_by;
  if (directory && granted)
    return by
      ? t`From a directory group, and also granted here by ${by}.`
      : t`From a directory group, and also granted here.`;
  if (granted) return by ? t`Granted here by ${by}.` : t`Granted here.`;
  return t`From a directory group; it ends when they leave that group.`;
}

const ABILITIES: Record<Ability, string> = {
  create: t`create users`,
  edit: t`edit users`,
  delete: t`delete users`,
  groups: t`change groups`,
  password: t`reset passwords`,
  lock: t`lock users`,
  disable: t`disable accounts in the directory`,
};

/** Return what the portal cannot do here, and why: one line for each reason. */
export function missingCapabilities({ missing }: Pick<Capabilities, 'missing'>): {
  action: string;
  reason: string;
}[] {
  const actionsByReason = new Map<string, string[]>();
  for (const [ability, reason] of Object.entries(missing)) {
    if (!reason) continue;
    const label = ABILITIES[ability as Ability] ?? ability;
    actionsByReason.set(reason, [...(actionsByReason.get(reason) ?? []), label]);
  }
  return [...actionsByReason].map(([reason, actions]) => ({
    action: joinWithOr(actions),
    reason: translate(reason),
  }));
}

/** Return whether deprovisioning of this user is still in progress. */
export const isDeprovisioning = (user: Pick<User, 'pending_steps'>): boolean =>
  user.pending_steps.length > 0;

/** Return whether the directory's uid for the name differs from the one the portal knows. */
export const hasChangedUid = (
  user: Pick<User, 'in_directory' | 'directory_problem' | 'uid' | 'known_uid'>,
): boolean =>
  user.in_directory &&
  !user.directory_problem &&
  user.uid !== null &&
  user.known_uid !== null &&
  user.uid !== user.known_uid;

const HOME_TASKS: Record<HomeRun['task'], string> = {
  create: t`Create the home directory`,
  archive: t`Archive the files`,
  delete: t`Delete the files`,
};

export const homeTask = (run: Pick<HomeRun, 'task'>): string => HOME_TASKS[run.task];

export function homeRunLabel(run: Pick<HomeRun, 'state'>): StateLabel {
  switch (run.state) {
    case 'queued':
      return { label: t`Queued`, tone: 'waiting' };
    case 'running':
      return { label: t`Running`, tone: 'busy' };
    case 'done':
      return { label: t`Done`, tone: 'good' };
    case 'failed':
      return { label: t`Failed`, tone: 'bad' };
  }
}

export const isActiveRun = ({ state }: Pick<HomeRun, 'state'>): boolean =>
  state === 'queued' || state === 'running';

/** Return whether the user is deleted or being deleted: then nothing can be changed. */
export const isDeleted = (user: Pick<User, 'deleted_at' | 'directory_wants'>): boolean =>
  user.deleted_at !== null || user.directory_wants === 'deleted';

/** Return whether there is a directory entry that the portal may change. */
export const isManaged = (
  user: Pick<
    User,
    'in_directory' | 'unmanaged' | 'directory_problem' | 'deleted_at' | 'directory_wants'
  >,
): boolean => user.in_directory && !user.unmanaged && !user.directory_problem && !isDeleted(user);

export type UserAction = 'edit' | 'password' | 'lock' | 'unlock' | 'disable' | 'enable' | 'delete';

/** Return the actions that are possible now, in order of frequency. `by` is the administrator's
 * username. */
export function actionsFor(user: User, by: string): UserAction[] {
  if (isDeleted(user) || user.unmanaged) return [];
  const able = (ability: Ability): boolean => isManaged(user) && can(user.capabilities, ability);
  const oneself = user.username === by;
  const { disabled } = user;
  const acts: [UserAction, boolean][] = [
    ['edit', able('edit')],
    ['password', able('password') && !disabled],
    ['unlock', able('lock') && user.locked === true && !disabled],
    ['lock', able('lock') && !user.locked && !disabled && !oneself],
    // The portal's own access can be toggled regardless of the directory's capabilities.
    ['enable', disabled && user.in_directory],
    ['disable', !disabled && !oneself],
    ['delete', !oneself],
  ];
  return acts.filter(([, possible]) => possible).map(([action]) => action);
}

/** Describe the state of the password. */
export function passwordText(
  user: Pick<User, 'locked' | 'disabled' | 'must_change_password'>,
): string {
  if (user.disabled) return t`refused: the account is disabled`;
  if (user.locked)
    return t`refused: the account is locked (by an administrator, or after too many wrong passwords)`;
  if (user.must_change_password) return t`one-time: must be changed at the next login`;
  return t`their own`;
}

export type Question = 'login' | 'session' | 'home';

export const QUESTIONS: Record<Question, string> = {
  login: t`Can log in`,
  session: t`Can start a session`,
  home: t`Has a home directory`,
};

export function answerLabel({ answer }: Pick<Check, 'answer'>): StateLabel {
  switch (answer) {
    case 'yes':
      return { label: t`Yes`, tone: 'good' };
    case 'no':
      return { label: t`No`, tone: 'bad' };
    case 'unknown':
      return { label: t`Unknown`, tone: 'waiting' };
  }
}
