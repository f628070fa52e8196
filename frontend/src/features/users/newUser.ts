/** The form for a new user: its draft and the resulting request. Pure. */
import { t } from '@lingui/core/macro';
import { formErrors, toApiValues } from '@/features/limits/draft';
import { NUMBERS, type NumberField } from '@/features/limits/types';
import { isLike, isRecordOf, isText, isTexts, orNull } from '@/lib/drafts';
import { suggestedUsername } from './suggest';
import type { NewUser, NewUserDefaults } from './types';

export interface NewUserValues {
  given_name: string;
  surname: string;
  /** null while it follows the names */
  username: string | null;
  email: string;
  display_name: string;
  uid: string;
  gid: string;
  /** null while it follows the username */
  home: string | null;
  shell: string;
  groups: string[];
  /** null while they are the portal's defaults; empty for none */
  login_group: string | null;
  slurm_account: string | null;
  limits: Record<string, string>;
}

export const EMPTY: NewUserValues = {
  given_name: '',
  surname: '',
  username: null,
  email: '',
  display_name: '',
  uid: '',
  gid: '',
  home: null,
  shell: '',
  groups: [],
  login_group: null,
  slurm_account: null,
  limits: {},
};

export const isNewUserValues = isLike<NewUserValues>({
  given_name: isText,
  surname: isText,
  username: orNull(isText),
  email: isText,
  display_name: isText,
  uid: isText,
  gid: isText,
  home: orNull(isText),
  shell: isText,
  groups: isTexts,
  login_group: orNull(isText),
  slurm_account: orNull(isText),
  limits: isRecordOf(isText),
});

/** Optional text fields that the form collapses; the portal fills in empty ones. */
export const COLLAPSED_FIELDS = ['display_name', 'uid', 'gid', 'shell'] as const;
export const TEXTS = [
  'given_name',
  'surname',
  'username',
  'email',
  'home',
  ...COLLAPSED_FIELDS,
] as const;
export type TextField = (typeof TEXTS)[number];

export const usernameOf = (values: NewUserValues): string =>
  values.username ?? suggestedUsername(values.given_name, values.surname);

export const homeOf = (
  values: NewUserValues,
  { home_template: template }: NewUserDefaults,
): string =>
  values.home ?? (usernameOf(values) ? template.replaceAll('{username}', usernameOf(values)) : '');

export const loginGroupOf = (values: NewUserValues, defaults: NewUserDefaults): string =>
  values.login_group ?? defaults.login_group ?? '';

export const accountOf = (values: NewUserValues, defaults: NewUserDefaults): string =>
  values.slurm_account ?? defaults.slurm_account ?? '';

export function limitsOf(values: NewUserValues): Record<NumberField, string> {
  const entries = NUMBERS.map((field) => [field, values.limits[field] ?? '']);
  return Object.fromEntries(entries) as Record<NumberField, string>;
}

const NO_NAMES = { partitions: '', accounts: '', qos: '' };

const limitDraft = (values: NewUserValues) => ({
  numbers: limitsOf(values),
  types: {},
  lists: NO_NAMES,
});

/** Return problems that the form detects before the request. */
export function checkNewUser(values: NewUserValues): Partial<Record<string, string>> {
  const number = (text: string): boolean => /^\d{0,10}$/.test(text.trim());
  return {
    ...(values.surname.trim() === '' ? { surname: t`Enter a surname.` } : {}),
    ...(usernameOf(values).trim() === '' ? { username: t`Enter a user name.` } : {}),
    ...(number(values.uid) ? {} : { uid: t`Enter a number, or leave the field empty.` }),
    ...(number(values.gid) ? {} : { gid: t`Enter a number, or leave the field empty.` }),
    ...Object.fromEntries(
      Object.entries(formErrors(limitDraft(values))).map(([name, text]) => [
        `limits.${name}`,
        text,
      ]),
    ),
  };
}

/** Build the request. Empty `email`, `home`, `shell`, `uid`, `gid` and limits are omitted, so that the
 * portal applies its defaults; null for `login_group` or `slurm_account` means none. */
export function requestOf(values: NewUserValues, defaults: NewUserDefaults): NewUser {
  const text = (field: TextField): string => (values[field] ?? '').trim();
  const optional = (field: 'email' | 'home' | 'shell') =>
    text(field) === '' ? {} : { [field]: text(field) };
  const numbered = (field: 'uid' | 'gid') =>
    text(field) === '' ? {} : { [field]: Number(text(field)) };
  const limits = toApiValues(limitDraft(values), null);
  const numbers = Object.fromEntries(
    NUMBERS.flatMap((field) => (limits[field] === null ? [] : [[field, limits[field]]])),
  );
  return {
    username: usernameOf(values).trim(),
    given_name: text('given_name'),
    surname: text('surname'),
    display_name: text('display_name'),
    groups: values.groups,
    login_group: loginGroupOf(values, defaults) || null,
    slurm_account: accountOf(values, defaults).trim() || null,
    limits: numbers,
    ...optional('email'),
    ...optional('home'),
    ...optional('shell'),
    ...numbered('uid'),
    ...numbered('gid'),
  };
}
