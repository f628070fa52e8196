import { useEffect, useState } from 'react';
import { ApiError } from '@/api/problem';
import { useMe } from '@/features/account/useMe';
import { dropKept, keep, keptDraft } from './kept';

interface Draft<T> {
  draft: T;
  setDraft: (draft: T) => void;
  /** tells of a failed save: where the login has ended, what was typed waits for its return */
  refused: (error: unknown) => void;
}

/** The state of a form, which outlives the end of a login. `form` as for `keep`. */
export function useDraft<T>(form: string, initial: () => T): Draft<T> {
  const { username } = useMe();
  const [draft, setDraft] = useState<T>(() => keptDraft<T>(username, form) ?? initial());
  useEffect(() => dropKept(username, form), [username, form]);
  const refused = (error: unknown): void => {
    if (error instanceof ApiError && error.slug === 'login-required') keep(username, form, draft);
  };
  return { draft, setDraft, refused };
}
