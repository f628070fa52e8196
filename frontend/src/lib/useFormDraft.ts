import { useRouter } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import {
  type DraftFields,
  draftOfEntry,
  dropDraft,
  readDraft,
  tabStorage,
  writeDraft,
} from './drafts';
import { useMe } from './useMe';

/** This tab's draft of one form. */
export interface FormDraft {
  /** the stored fields of an earlier visit, by name; not validated */
  stored: DraftFields;
  /** whether a draft is stored, and since when: an earlier visit, or this one */
  since: 'before' | 'now' | null;
  put: (field: string, value: unknown) => void;
  /** deletes the draft, when the form was sent or is reset */
  drop: () => void;
}

/**
 * Store the changes made in a form. `form` names it and its subject; it is read once.
 * `perHistoryEntry`: the address or a file fills in the form, which takes precedence over the draft of
 * an earlier visit, so each entry of the tab's history has its own draft. Back and a reload return to
 * the same entry; following the link again creates a new one.
 */
export function useFormDraft(form: string, { perHistoryEntry = false } = {}): FormDraft {
  const { username } = useMe();
  const { history } = useRouter();
  const [draft] = useState(() => {
    const storage = tabStorage();
    const name = perHistoryEntry ? draftOfEntry(form, history.location.state.__TSR_key) : form;
    return { storage, form: name, stored: readDraft(storage, username, name) };
  });
  const [fields] = useState(() => new Map(Object.entries(draft.stored)));
  const [since, setSince] = useState<FormDraft['since']>(fields.size > 0 ? 'before' : null);
  return {
    stored: draft.stored,
    since,
    put: (field, value) => {
      fields.set(field, value);
      const isStored = writeDraft(draft.storage, username, draft.form, Object.fromEntries(fields));
      setSince(isStored ? (since ?? 'now') : null);
    },
    drop: () => {
      fields.clear();
      dropDraft(draft.storage, username, draft.form);
      setSince(null);
    },
  };
}

/** Return whether this tab has a draft of a form. */
export function useHasDraft(form: string): boolean {
  const { username } = useMe();
  const [stored] = useState(() => readDraft(tabStorage(), username, form));
  return Object.keys(stored).length > 0;
}

/** Sets a value, or updates the current one by a function. */
export type SetValue<T> = (next: T | ((now: T) => T)) => void;

/** A field of a form that is stored in its draft: initially the stored value, if it is still valid. */
export function useDraftField<T>(
  draft: FormDraft,
  field: string,
  initial: () => T,
  isValid: (value: unknown) => value is T,
): [T, SetValue<T>] {
  const [value, set] = useState<T>(() => {
    const value = draft.stored[field];
    return isValid(value) ? value : initial();
  });
  const latest = useRef(value);
  return [
    value,
    (next) => {
      latest.current = next instanceof Function ? next(latest.current) : next;
      set(latest.current);
      draft.put(field, latest.current);
    },
  ];
}

export interface StoredValue<T> {
  value: T;
  setValue: SetValue<T>;
  draft: FormDraft;
}

/** The whole state of a form, stored in its draft: initially the stored state, if it is still
 * valid. */
export function useDraft<T>(
  form: string,
  initial: () => T,
  isValid: (value: unknown) => value is T,
): StoredValue<T> {
  const draft = useFormDraft(form);
  const [value, setValue] = useDraftField(draft, 'values', initial, isValid);
  return { value, setValue, draft };
}
