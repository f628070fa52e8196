import { useDraft } from '@/lib/useFormDraft';
import { useSaving } from '@/ui/useSaving';
import { createUser } from './actions';
import { draftErrors, EMPTY, isNewDraft, type NewDraft, requestOf } from './newUser';
import type { NewUserDefaults, OneTimePassword, User } from './types';

export interface Made {
  user: User;
  password: OneTimePassword;
}

/** The draft of a new user until it is created. */
export function useNewUser(defaults: NewUserDefaults, onMade: (created: Made) => void) {
  const { draft, setDraft, kept } = useDraft('new-user', () => EMPTY, isNewDraft);
  const set = (change: Partial<NewDraft>): void => setDraft((before) => ({ ...before, ...change }));
  const create = async (): Promise<void> => {
    const created = await createUser(requestOf(draft, defaults));
    kept.drop();
    onMade(created);
  };
  const saving = useSaving({ check: () => draftErrors(draft), save: create });
  return { draft, set, kept, saving };
}
