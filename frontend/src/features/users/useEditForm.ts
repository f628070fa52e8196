import { t } from '@lingui/core/macro';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, errorMessage } from '@/api/problem';
import { displayNameOf } from '@/features/directory/names';
import { joinSentences, joinWithAnd } from '@/i18n/lists';
import { clock } from '@/lib/clock';
import { localTime } from '@/lib/time';
import { useFormDraft } from '@/lib/useFormDraft';
import { useRecordForm } from '@/ui/useRecordForm';
import { editUser } from './actions';
import {
  changes,
  type EditedUser,
  FIELDS,
  type Field,
  formErrors,
  isEditedUser,
  LABELS,
  type MergedEdit,
  mergeEdit,
  toOriginalUser,
  toUserValues,
} from './edit';
import { userQuery } from './queries';
import type { User } from './types';

/**
 * The form that saves the changed fields of a user, and merges with changes saved by others since:
 * its values are the draft and the directory's values when editing began.
 */
export function useEditForm(user: User, onClose: () => void) {
  const queries = useQueryClient();
  const [message, setMessage] = useState<string | null>(null);
  const form = useRecordForm({
    draft: useFormDraft(`user ${user.username}`),
    isValid: isEditedUser,
    initial: (): EditedUser => ({
      base: toOriginalUser(user),
      draft: toUserValues(user),
      conflicts: {},
    }),
    fields: FIELDS,
    check: ({ draft }) => formErrors(draft),
    save: async ({ base, draft }) => {
      setMessage(null);
      const changed = changes(base, draft);
      if (Object.keys(changed).length === 0) return;
      await editUser(user.username, changed, base.version);
      const name = displayNameOf(user);
      notifications.show({ message: t`${name} was changed in the directory.` });
    },
    saved: onClose,
    failed: async (error) => {
      if (isConflict(error))
        setMessage(await mergeFresh().then((merged) => conflictText(error, merged), errorMessage));
    },
  });
  const set = (field: Field, value: string): void =>
    form.setValues((before) => ({ ...before, draft: { ...before.draft, [field]: value } }));
  /** Resolve the conflict over a field. */
  const resolveConflict = (field: Field, value: string): void => {
    const { [field]: _, ...conflicts } = form.values.conflicts;
    form.setValues((before) => ({
      ...before,
      draft: { ...before.draft, [field]: value },
      conflicts,
    }));
  };
  /** Another user saved first: merge their values with the draft. */
  const mergeFresh = async (): Promise<MergedEdit> => {
    const fresh = await queries.fetchQuery({ ...userQuery(user.username), staleTime: 0 });
    return new Promise((resolve) =>
      form.setValues((now) => {
        const merged = mergeEdit(now.base, now.draft, fresh);
        resolve(merged);
        return { base: toOriginalUser(fresh), draft: merged.draft, conflicts: merged.conflicts };
      }),
    );
  };
  const startOver = (): void => {
    setMessage(null);
    form.startOver();
  };
  return { form: { ...form, startOver }, message, set, resolveConflict };
}

const isConflict = (error: unknown): error is ApiError =>
  error instanceof ApiError &&
  (error.slug === 'edit-conflict' || error.slug === 'directory-changed');

/** Describe a conflict: the other user, their values in the form now, and the fields changed by
 * both. */
function conflictText(error: ApiError, { taken, conflicts }: MergedEdit): string {
  const names = (fields: Field[]): string => joinWithAnd(fields.map((field) => LABELS[field]));
  const { changed_by: who, changed_at: at } = error.more;
  const when = typeof at === 'string' ? localTime(at, clock.now()) : null;
  const lines = [whoText(typeof who === 'string' ? who : null, when)];
  const left = names(taken);
  if (left !== '') lines.push(t`Updated with their values: ${left}.`);
  const both = names(Object.keys(conflicts) as Field[]);
  if (both !== '') lines.push(t`You both changed: ${both}. What you typed is still there.`);
  return joinSentences([...lines, t`Nothing of yours is saved yet.`]);
}

function whoText(who: string | null, when: string | null): string {
  if (who === null) return t`Another user has changed the same user since you started.`;
  return when === null
    ? t`${who} has changed the same user since you started.`
    : t`${who} changed the same user ${when}.`;
}
