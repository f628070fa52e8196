/**
 * What is being filled in, kept by this tab until it is sent: Back, a reload, a page visited in
 * between or a tab that is opened again lose nothing. It is in the tab's own storage, under its
 * user's name: another tab has drafts of its own, and logging out takes them away. Pure but for
 * the storage it is given.
 */

/** Of a form, what was changed in it, by name. */
export type Parts = Readonly<Record<string, unknown>>;

export type Keeper = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>;

const PREFIX = 'portal.draft';
const MOST = 20;

/** Of the names of drafts that belong to one entry of the tab's history. */
const AT_ENTRY = ' @';

/** The name of a form's draft that is only found from one entry of the tab's history. */
export const formAtEntry = (form: string, entry = ''): string => `${form}${AT_ENTRY}${entry}`;

const keyOf = (username: string, form: string): string => `${PREFIX} ${username} ${form}`;

/** This tab's storage; null where it is switched off. */
export function tabStorage(): Keeper | null {
  try {
    return window.sessionStorage;
  } catch {
    return null;
  }
}

export function readDraft(storage: Keeper | null, username: string, form: string): Parts {
  return found(storage, keyOf(username, form))?.parts ?? {};
}

/** A draft with the time when it was written; null if it isn't there, or not ours. */
function found(storage: Keeper | null, key: string): Written | null {
  try {
    const value: unknown = JSON.parse(storage?.getItem(key) ?? 'null');
    return isWritten(value) ? value : null;
  } catch {
    return null;
  }
}

/** Answers whether it is kept now. */
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
    // full: the form works without a draft, and an earlier draft is outdated
    storage.removeItem(key);
    return false;
  }
}

/** For one more than there are: each followed link leaves a draft that hardly anyone comes back to,
 * so these go first, then what was written longest ago. */
function makeRoom(storage: Keeper, key: string): void {
  const others = draftsIn(storage).filter((one) => one !== key);
  if (others.length < MOST) return;
  const places = others.map((one) => ({
    one,
    last: one.includes(AT_ENTRY) ? 0 : 1,
    at: found(storage, one)?.at ?? 0,
  }));
  places.sort((a, b) => a.last - b.last || a.at - b.at);
  for (const { one } of places.slice(0, others.length - MOST + 1)) storage.removeItem(one);
}

export function dropDraft(storage: Keeper | null, username: string, form: string): void {
  storage?.removeItem(keyOf(username, form));
}

/** Remove the drafts of all users but `except`, the current one. */
export function dropDrafts(storage: Keeper | null, except?: string): void {
  if (storage === null) return;
  const kept = except === undefined ? undefined : keyOf(except, '');
  for (const key of draftsIn(storage))
    if (kept === undefined || !key.startsWith(kept)) storage.removeItem(key);
}

function draftsIn(storage: Keeper): string[] {
  const keys = Array.from({ length: storage.length }, (_, place) => storage.key(place));
  return keys.filter((key): key is string => key?.startsWith(`${PREFIX} `) ?? false);
}

// --- what a draft's parts may be: an earlier version of these pages may have kept something else ---

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

/** An object with these members. */
export const isLike =
  <T extends object>(members: { [K in keyof T]-?: Is<T[K]> }): Is<T> =>
  (value): value is T =>
    typeof value === 'object' &&
    value !== null &&
    (Object.keys(members) as (keyof T)[]).every((name) =>
      members[name]((value as Partial<T>)[name]),
    );

/** An object whose members are all of a kind. */
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
