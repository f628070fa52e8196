import { NUMBERS } from '@/features/limits/types';
import { useFormDraft } from '@/lib/useFormDraft';
import { type Form, useForm } from '@/ui/useForm';
import { createUser } from './actions';
import { draftErrors, EMPTY, isNewDraft, type NewDraft, requestOf, TEXTS } from './newUser';
import type { NewUserDefaults, OneTimePassword, User } from './types';

export interface Made {
  user: User;
  password: OneTimePassword;
}

const FIELDS = [
  ...TEXTS,
  'groups',
  'login_group',
  'slurm_account',
  ...NUMBERS.map((limit) => `limits.${limit}`),
];

/** The form of a new user until it is created. */
export const useNewUser = (
  defaults: NewUserDefaults,
  onMade: (created: Made) => void,
): Form<NewDraft> =>
  useForm({
    draft: useFormDraft('new-user', false),
    isValid: isNewDraft,
    initial: () => EMPTY,
    fields: FIELDS,
    check: draftErrors,
    save: (draft) => createUser(requestOf(draft, defaults)),
    saved: onMade,
  });
