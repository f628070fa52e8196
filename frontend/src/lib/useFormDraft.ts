import { useRouter } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { dropDraft, formAtEntry, type Parts, readDraft, tabStorage, writeDraft } from './drafts';
import { useMe } from './useMe';

/** What this tab keeps of one form. */
export interface FormDraft {
  /** what was left here before, by part; nothing of it is checked */
  left: Parts;
  /** whether anything is kept, and since when: an earlier visit, or this one */
  since: 'before' | 'now' | null;
  put: (part: string, value: unknown) => void;
  /** the form was sent, or is reset */
  drop: () => void;
}

/**
 * Keep the changes made in a form. `form` names it and its subject; it is read once. `filled`: the
 * address fills the form in, which takes precedence over what was left at an earlier visit. Back
 * and a reload return to the same entry of the tab's history; following the link again creates a
 * new one.
 */
export function useFormDraft(form: string, filled: boolean): FormDraft {
  const { username } = useMe();
  const { history } = useRouter();
  const [draft] = useState(() => {
    const storage = tabStorage();
    const name = filled ? formAtEntry(form, history.location.state.__TSR_key) : form;
    return { storage, form: name, left: readDraft(storage, username, name) };
  });
  const [parts] = useState(() => new Map(Object.entries(draft.left)));
  const [since, setSince] = useState<FormDraft['since']>(parts.size > 0 ? 'before' : null);
  return {
    left: draft.left,
    since,
    put: (part, value) => {
      parts.set(part, value);
      const kept = writeDraft(draft.storage, username, draft.form, Object.fromEntries(parts));
      setSince(kept ? (since ?? 'now') : null);
    },
    drop: () => {
      parts.clear();
      dropDraft(draft.storage, username, draft.form);
      setSince(null);
    },
  };
}

/** Whether a form was left in this tab with something in it. */
export function useIsLeft(form: string): boolean {
  const { username } = useMe();
  const [left] = useState(() => readDraft(tabStorage(), username, form));
  return Object.keys(left).length > 0;
}

/** Puts another value in the place of one, or makes it of that one, whatever came in between. */
export type Put<T> = (next: T | ((now: T) => T)) => void;

/** A state of a form's that its draft keeps: it begins with what was left, if that is still right. */
export function useKept<T>(
  draft: FormDraft,
  part: string,
  initial: () => T,
  isRight: (value: unknown) => value is T,
): [T, Put<T>] {
  const [value, set] = useState<T>(() => {
    const left = draft.left[part];
    return isRight(left) ? left : initial();
  });
  const latest = useRef(value);
  return [
    value,
    (next) => {
      latest.current = next instanceof Function ? next(latest.current) : next;
      set(latest.current);
      draft.put(part, latest.current);
    },
  ];
}

export interface Draft<T> {
  draft: T;
  setDraft: Put<T>;
  kept: FormDraft;
}

/** For a form whose state is one thing: it begins as it was left, if that is still right. */
export function useDraft<T>(
  form: string,
  initial: () => T,
  isRight: (value: unknown) => value is T,
): Draft<T> {
  const kept = useFormDraft(form, false);
  const [draft, setDraft] = useKept(kept, 'whole', initial, isRight);
  return { draft, setDraft, kept };
}
