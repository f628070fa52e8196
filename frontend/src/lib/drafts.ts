/**
 * Form drafts, stored by this tab until they are sent: Back, a reload, another page in between or
 * reopening the tab lose nothing. They are in the tab's own storage, under the user's name: another
 * tab has drafts of its own, and logging out deletes them. Pure but for the given storage.
 */

/** The changed fields of a form, by name. */
export type DraftFields = Readonly<Record<string, unknown>>;

export type DraftStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>;

const PREFIX = 'portal.draft';
const MAX_DRAFTS = 20;

/** Separates a form's name from an entry of the tab's history. */
const AT_ENTRY = ' @';

/** Return the name of a draft that belongs to one entry of the tab's history. */
export const draftOfEntry = (form: string, entry = ''): string => `${form}${AT_ENTRY}${entry}`;

const keyOf = (username: string, form: string): string => `${PREFIX} ${username} ${form}`;

/** Return this tab's storage; null if it is disabled. */
export function tabStorage(): DraftStorage | null {
  try {
    return window.sessionStorage;
  } catch {
    return null;
  }
}

export function readDraft(
  storage: DraftStorage | null,
  username: string,
  form: string,
): DraftFields {
  return readStored(storage, keyOf(username, form))?.fields ?? {};
}

/** Read a draft with its time; null if it is absent or invalid. */
function readStored(storage: DraftStorage | null, key: string): StoredDraft | null {
  try {
    const value: unknown = JSON.parse(storage?.getItem(key) ?? 'null');
    return isStoredDraft(value) ? value : null;
  } catch {
    return null;
  }
}

/** Write a draft; return whether it is stored. */
export function writeDraft(
  storage: DraftStorage | null,
  username: string,
  form: string,
  fields: DraftFields,
  now = Date.now,
): boolean {
  if (storage === null) return false;
  const key = keyOf(username, form);
  makeRoom(storage, key);
  try {
    storage.setItem(key, JSON.stringify({ at: now(), fields } satisfies StoredDraft));
    return true;
  } catch {
    // storage is full: the form works without a draft, and an earlier draft is outdated
    storage.removeItem(key);
    return false;
  }
}

/** Delete drafts to make room for another: first those of followed links, which are seldom used
 * again, then the oldest. */
function makeRoom(storage: DraftStorage, added: string): void {
  const others = draftsIn(storage).filter((key) => key !== added);
  if (others.length < MAX_DRAFTS) return;
  const entries = others.map((key) => ({
    key,
    last: key.includes(AT_ENTRY) ? 0 : 1,
    at: readStored(storage, key)?.at ?? 0,
  }));
  entries.sort((a, b) => a.last - b.last || a.at - b.at);
  for (const { key } of entries.slice(0, others.length - MAX_DRAFTS + 1)) storage.removeItem(key);
}

export function dropDraft(storage: DraftStorage | null, username: string, form: string): void {
  storage?.removeItem(keyOf(username, form));
}

/** Remove the drafts of all users but `except`, the current one. */
export function dropDrafts(storage: DraftStorage | null, except?: string): void {
  if (storage === null) return;
  const keptKey = except === undefined ? undefined : keyOf(except, '');
  for (const key of draftsIn(storage))
    if (keptKey === undefined || !key.startsWith(keptKey)) storage.removeItem(key);
}

function draftsIn(storage: DraftStorage): string[] {
  const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index));
  return keys.filter((key): key is string => key?.startsWith(`${PREFIX} `) ?? false);
}

// --- type guards of a draft's fields: an earlier version of these pages may have stored other
// types ---

type Guard<T> = (value: unknown) => value is T;

export const isText: Guard<string> = (value) => typeof value === 'string';

export const isTexts: Guard<string[]> = (value) => Array.isArray(value) && value.every(isText);

export const isOneOf =
  <T extends string>(...names: readonly T[]): Guard<T> =>
  (value): value is T =>
    names.some((name) => name === value);

export const isBoolean: Guard<boolean> = (value) => typeof value === 'boolean';

export const orNull =
  <T>(guard: Guard<T>): Guard<T | null> =>
  (value): value is T | null =>
    value === null || guard(value);

export const isNumber: Guard<number> = (value) => typeof value === 'number';

/** Return a guard for an object with these members. */
export const isLike =
  <T extends object>(members: { [K in keyof T]-?: Guard<T[K]> }): Guard<T> =>
  (value): value is T =>
    typeof value === 'object' &&
    value !== null &&
    (Object.keys(members) as (keyof T)[]).every((name) =>
      members[name]((value as Partial<T>)[name]),
    );

/** Return a guard for an object whose members all have one type. */
export const isRecordOf =
  <T>(guard: Guard<T>): Guard<Readonly<Record<string, T>>> =>
  (value): value is Readonly<Record<string, T>> =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every(guard);

/** The stored form of a draft. */
interface StoredDraft {
  at: number;
  fields: DraftFields;
}

const isAny = (_: unknown): _ is unknown => true;

const isStoredDraft = isLike<StoredDraft>({ at: isNumber, fields: isRecordOf(isAny) });
