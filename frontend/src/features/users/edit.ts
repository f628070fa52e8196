/** Concurrent editing of a user: what was changed, by which user, and what to keep. Pure. */
import { t } from '@lingui/core/macro';
import { isLike, isNumber, isRecordOf, isText, orNull } from '@/lib/drafts';
import type { User } from './types';

export const FIELDS = [
  'given_name',
  'surname',
  'display_name',
  'email',
  'gid',
  'home',
  'shell',
] as const;

export type Field = (typeof FIELDS)[number];
export type UserValues = Record<Field, string>;
export type OriginalUser = Pick<User, Field | 'version'>;
export type Changes = Partial<Record<Exclude<Field, 'gid'>, string>> & { gid?: number };

export const LABELS: Record<Field, string> = {
  given_name: t`Given name`,
  surname: t`Surname`,
  display_name: t`Display name`,
  email: t`E-mail`,
  gid: t`Primary group (GID)`,
  home: t`Home directory`,
  shell: t`Login shell`,
};

/** Return a user's values as the form holds them. */
export function toUserValues(base: OriginalUser): UserValues {
  const entries = FIELDS.map((field) => [field, String(base[field] ?? '')]);
  return Object.fromEntries(entries) as UserValues;
}

const changedFields = (from: UserValues, to: UserValues): Field[] =>
  FIELDS.filter((field) => from[field].trim() !== to[field].trim());

/** Return the changed fields. An emptied e-mail address is removed; the portal refuses other empty
 * fields. */
export function changes(base: OriginalUser, draft: UserValues): Changes {
  const changed: Changes = {};
  for (const field of changedFields(toUserValues(base), draft)) {
    if (field === 'gid') changed.gid = Number(draft.gid.trim());
    else changed[field] = draft[field].trim();
  }
  return changed;
}

/** Return errors that the form detects itself: a number that cannot be parsed. */
export function formErrors(draft: UserValues): Partial<Record<Field, string>> {
  return /^\d*$/.test(draft.gid.trim()) ? {} : { gid: t`Enter a number.` };
}

/** The form's content. */
export interface EditedUser {
  /** the values at the start; the page behind it may refresh since */
  base: OriginalUser;
  draft: UserValues;
  /** fields that another user changed too, with their values */
  conflicts: Partial<UserValues>;
}

const orNoText = orNull(isText);

export const isEditedUser = isLike<EditedUser>({
  base: isLike<OriginalUser>({
    given_name: orNoText,
    surname: orNoText,
    display_name: isText,
    email: orNoText,
    gid: orNull(isNumber),
    home: orNoText,
    shell: orNoText,
    version: isText,
  }),
  draft: isLike<UserValues>({
    given_name: isText,
    surname: isText,
    display_name: isText,
    email: isText,
    gid: isText,
    home: isText,
    shell: isText,
  }),
  conflicts: isRecordOf(isText),
});

/** Return the form's initial values of a user. */
export const toOriginalUser = (user: OriginalUser): OriginalUser => ({
  given_name: user.given_name,
  surname: user.surname,
  display_name: user.display_name,
  email: user.email,
  gid: user.gid,
  home: user.home,
  shell: user.shell,
  version: user.version,
});

export interface MergedEdit {
  /** the draft, with the other's values in fields that were not edited */
  draft: UserValues;
  /** fields edited differently by both: the other's value */
  conflicts: Partial<UserValues>;
  /** fields edited by the other only */
  taken: Field[];
}

/** Merge after another user saved: keep edited fields, and never revert theirs silently. */
export function mergeEdit(base: OriginalUser, draft: UserValues, theirs: OriginalUser): MergedEdit {
  const [before, now] = [toUserValues(base), toUserValues(theirs)];
  const mine = new Set(changedFields(before, draft));
  const merged: MergedEdit = { draft: { ...draft }, conflicts: {}, taken: [] };
  for (const field of changedFields(before, now)) {
    if (!mine.has(field)) {
      merged.draft[field] = now[field];
      merged.taken.push(field);
    } else if (draft[field].trim() !== now[field]) merged.conflicts[field] = now[field];
  }
  return merged;
}
