import { useDraft } from '@/lib/useFormDraft';
import { useSaving } from '@/ui/useSaving';
import { createPerson } from './actions';
import { draftErrors, EMPTY, isNewDraft, type NewDraft, requestOf } from './newPerson';
import type { NewUserDefaults, OneTimePassword, Person } from './types';

export interface Made {
  person: Person;
  password: OneTimePassword;
}

/** A person as they are being filled in, until the directory has them. */
export function useNewPerson(defaults: NewUserDefaults, onMade: (made: Made) => void) {
  const { draft, setDraft, kept } = useDraft('new-person', () => EMPTY, isNewDraft);
  const set = (change: Partial<NewDraft>): void => setDraft((before) => ({ ...before, ...change }));
  const create = async (): Promise<void> => {
    const made = await createPerson(requestOf(draft, defaults));
    kept.drop();
    onMade(made);
  };
  const saving = useSaving({ check: () => draftErrors(draft), save: create });
  return { draft, set, kept, saving };
}
