/** The form for somebody new, as what is typed into it and as what is asked for. Pure. */
import { t } from '@lingui/core/macro';
import { isLike, isText, isTexts, orNull } from '@/lib/drafts';
import type { NewPerson } from './shapes';
import { suggestedUsername } from './suggest';

export interface NewDraft {
  given_name: string;
  surname: string;
  /** null as long as it follows the names */
  username: string | null;
  email: string;
  display_name: string;
  uid: string;
  gid: string;
  home: string;
  shell: string;
  groups: string[];
}

export const EMPTY: NewDraft = {
  given_name: '',
  surname: '',
  username: null,
  email: '',
  display_name: '',
  uid: '',
  gid: '',
  home: '',
  shell: '',
  groups: [],
};

export const isNewDraft = isLike<NewDraft>({
  given_name: isText,
  surname: isText,
  username: orNull(isText),
  email: isText,
  display_name: isText,
  uid: isText,
  gid: isText,
  home: isText,
  shell: isText,
  groups: isTexts,
});

/** What a line of text is in; the rest may be left to the portal's settings. */
export const RARE = ['display_name', 'uid', 'gid', 'home', 'shell'] as const;
export const TEXTS = ['given_name', 'surname', 'username', 'email', ...RARE] as const;
export type TextField = (typeof TEXTS)[number];

export const usernameOf = (draft: NewDraft): string =>
  draft.username ?? suggestedUsername(draft.given_name, draft.surname);

/** What can be seen to be wrong before anybody is asked. */
export function draftErrors(draft: NewDraft): Partial<Record<TextField, string>> {
  const number = (text: string): boolean => /^\d{0,10}$/.test(text.trim());
  return {
    ...(draft.surname.trim() === '' ? { surname: t`Enter a surname.` } : {}),
    ...(usernameOf(draft).trim() === '' ? { username: t`Enter a user name.` } : {}),
    ...(number(draft.uid) ? {} : { uid: t`Enter a number, or nothing.` }),
    ...(number(draft.gid) ? {} : { gid: t`Enter a number, or nothing.` }),
  };
}

/** What is left empty is left out: the portal's settings fill it in. */
export function requestOf(draft: NewDraft): NewPerson {
  const text = (field: TextField): string => (draft[field] ?? '').trim();
  const optional = (field: 'email' | 'home' | 'shell') =>
    text(field) === '' ? {} : { [field]: text(field) };
  const numbered = (field: 'uid' | 'gid') =>
    text(field) === '' ? {} : { [field]: Number(text(field)) };
  return {
    username: usernameOf(draft).trim(),
    given_name: text('given_name'),
    surname: text('surname'),
    display_name: text('display_name'),
    groups: draft.groups,
    ...optional('email'),
    ...optional('home'),
    ...optional('shell'),
    ...numbered('uid'),
    ...numbered('gid'),
  };
}
