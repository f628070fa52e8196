import { NUMBERS } from '@/features/limits/types';
import { useFormDraft } from '@/lib/useFormDraft';
import { type Form, useRecordForm } from '@/ui/useRecordForm';
import { createUser } from './actions';
import {
  checkNewUser,
  EMPTY,
  isNewUserValues,
  type NewUserValues,
  requestOf,
  TEXTS,
} from './newUser';
import type { NewUserDefaults, OneTimePassword, User } from './types';

export interface CreatedUser {
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
  onCreated: (created: CreatedUser) => void,
): Form<NewUserValues> =>
  useRecordForm({
    draft: useFormDraft('new-user'),
    isValid: isNewUserValues,
    initial: () => EMPTY,
    fields: FIELDS,
    check: checkNewUser,
    save: (values) => createUser(requestOf(values, defaults)),
    saved: onCreated,
  });
