import { useDraft } from '@/lib/useFormDraft';
import { useSaving } from '@/ui/useSaving';
import { createUser } from './actions';
import { draftErrors, EMPTY, isNewDraft, type NewDraft, requestOf } from './newUser';
import type { NewUserDefaults, OneTimePassword, User } from './types';

export interface Made {
  user: User;
  password: OneTimePassword;
}

/** A user as they are being filled in, until the directory has them. */
export function useNewUser(defaults: NewUserDefaults, onMade: (made: Made) => void) {
  const { draft, setDraft, kept } = useDraft('new-user', () => EMPTY, isNewDraft);
  const set = (change: Partial<NewDraft>): void => setDraft((before) => ({ ...before, ...change }));
  const create = async (): Promise<void> => {
    const made = await createUser(requestOf(draft, defaults));
    kept.drop();
    onMade(made);
  };
  const saving = useSaving({ check: () => draftErrors(draft), save: create });
  return { draft, set, kept, saving };
}
