import { type FormEvent, useRef, useState } from 'react';
import { fieldMessage } from '@/api/problem';
import { useWithPassword } from '@/features/account/reauth';
import { useDraft } from '@/lib/useFormDraft';
import { Cancelled } from '@/ui/complain';
import { focusFirstProblem } from '@/ui/focus';
import { createPerson } from './actions';
import {
  draftErrors,
  EMPTY,
  isNewDraft,
  type NewDraft,
  requestOf,
  TEXTS,
  type TextField,
} from './newPerson';
import type { OneTimePassword, Person } from './shapes';

export interface Made {
  person: Person;
  password: OneTimePassword;
}

/** A person as they are being filled in, until the directory has them. */
export function useNewPerson(onMade: (made: Made) => void) {
  const withPassword = useWithPassword();
  const form = useRef<HTMLFormElement>(null);
  const { draft, setDraft, kept } = useDraft('new-person', () => EMPTY, isNewDraft);
  const set = (change: Partial<NewDraft>): void => setDraft((before) => ({ ...before, ...change }));
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const errors = tried ? draftErrors(draft) : {};

  const create = async (): Promise<void> => {
    try {
      const made = await withPassword(() => createPerson(requestOf(draft)));
      kept.drop();
      onMade(made);
    } catch (refusal) {
      if (refusal instanceof Cancelled) return;
      setError(refusal);
      focusFirstProblem(form);
    }
  };

  const submit = async (event: FormEvent): Promise<void> => {
    if (event.target !== event.currentTarget) return; // of a dialog within
    event.preventDefault();
    if (busy) return;
    setTried(true);
    setError(null);
    if (Object.keys(draftErrors(draft)).length > 0) return focusFirstProblem(form);
    setBusy(true);
    await create();
    setBusy(false);
  };

  const problem = (field: TextField | 'groups'): string | undefined =>
    (field === 'groups' ? undefined : errors[field]) ?? fieldMessage(error, field);
  /** a refusal that belongs to no field */
  const elsewhere = [...TEXTS, 'groups'].some((field) => fieldMessage(error, field)) ? null : error;
  return { form, draft, set, kept, busy, problem, elsewhere, submit };
}
