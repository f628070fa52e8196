/**
 * Form drafts, stored by this tab until they are sent: Back, a reload, another page in between or
 * reopening the tab lose nothing. They are in the tab's own storage, under the user's name: another
 * tab has drafts of its own, and logging out deletes them. Pure but for the given storage.
 */

/** The changed fields of a form, by name. */
export type Parts = Readonly<Record<string, unknown>>;

export type Keeper = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>;

const PREFIX = 'portal.draft';
const MAX_DRAFTS = 20;

/** Separates a form's name from an entry of the tab's history. */
const AT_ENTRY = ' @';

/** Return the name of a draft that belongs to one entry of the tab's history. */
export const formAtEntry = (form: string, entry = ''): string => `${form}${AT_ENTRY}${entry}`;

const keyOf = (username: string, form: string): string => `${PREFIX} ${username} ${form}`;

/** Return this tab's storage; null if it is disabled. */
export function tabStorage(): Keeper | null {
  try {
    return window.sessionStorage;
  } catch {
    return null;
  }
}

export function readDraft(storage: Keeper | null, username: string, form: string): Parts {
  return readStored(storage, keyOf(username, form))?.parts ?? {};
}

/** Read a draft with its time; null if it is absent or invalid. */
function readStored(storage: Keeper | null, key: string): Written | null {
  try {
    const value: unknown = JSON.parse(storage?.getItem(key) ?? 'null');
    return isWritten(value) ? value : null;
  } catch {
    return null;
  }
}

/** Write a draft; return whether it is stored. */
export function writeDraft(
  storage: Keeper | null,
  username: string,
  form: string,
  parts: Parts,
  now = Date.now,
): boolean {
  if (storage === null) return false;
  const key = keyOf(username, form);
  makeRoom(storage, key);
  try {
    storage.setItem(key, JSON.stringify({ at: now(), parts } satisfies Written));
    return true;
  } catch {
    // storage is full: the form works without a draft, and an earlier draft is outdated
    storage.removeItem(key);
    return false;
  }
}

/** Delete drafts to make room for another: first those of followed links, which are seldom used
 * again, then the oldest. */
function makeRoom(storage: Keeper, added: string): void {
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

export function dropDraft(storage: Keeper | null, username: string, form: string): void {
  storage?.removeItem(keyOf(username, form));
}

/** Remove the drafts of all users but `except`, the current one. */
export function dropDrafts(storage: Keeper | null, except?: string): void {
  if (storage === null) return;
  const keptKey = except === undefined ? undefined : keyOf(except, '');
  for (const key of draftsIn(storage))
    if (keptKey === undefined || !key.startsWith(keptKey)) storage.removeItem(key);
}

function draftsIn(storage: Keeper): string[] {
  const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index));
  return keys.filter((key): key is string => key?.startsWith(`${PREFIX} `) ?? false);
}

// --- type guards of a draft's fields: an earlier version of these pages may have stored other
// types ---

type Is<T> = (value: unknown) => value is T;

export const isText: Is<string> = (value) => typeof value === 'string';

export const isTexts: Is<string[]> = (value) => Array.isArray(value) && value.every(isText);

export const isOneOf =
  <T extends string>(...names: readonly T[]): Is<T> =>
  (value): value is T =>
    names.some((name) => name === value);

export const isBoolean: Is<boolean> = (value) => typeof value === 'boolean';

export const orNull =
  <T>(is: Is<T>): Is<T | null> =>
  (value): value is T | null =>
    value === null || is(value);

export const isNumber: Is<number> = (value) => typeof value === 'number';

/** Return a guard for an object with these members. */
export const isLike =
  <T extends object>(members: { [K in keyof T]-?: Is<T[K]> }): Is<T> =>
  (value): value is T =>
    typeof value === 'object' &&
    value !== null &&
    (Object.keys(members) as (keyof T)[]).every((name) =>
      members[name]((value as Partial<T>)[name]),
    );

/** Return a guard for an object whose members all have one type. */
export const isRecordOf =
  <T>(is: Is<T>): Is<Readonly<Record<string, T>>> =>
  (value): value is Readonly<Record<string, T>> =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every(is);

/** The stored form of a draft. */
interface Written {
  at: number;
  parts: Parts;
}

const isAny = (_: unknown): _ is unknown => true;

const isWritten = isLike<Written>({ at: isNumber, parts: isRecordOf(isAny) });
