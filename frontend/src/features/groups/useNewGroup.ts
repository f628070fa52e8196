import { t } from '@lingui/core/macro';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { fieldMessage } from '@/api/problem';
import { useWithPassword } from '@/features/account/reauth';
import { isLike, isText, isTexts } from '@/lib/drafts';
import { useDraft } from '@/lib/useFormDraft';
import { Cancelled } from '@/ui/complain';
import { focusFirstProblem } from '@/ui/focus';
import { createGroup } from './actions';

export interface Draft {
  name: string;
  gid: string;
  description: string;
  members: string[];
}

const EMPTY: Draft = { name: '', gid: '', description: '', members: [] };
const isDraft = isLike<Draft>({ name: isText, gid: isText, description: isText, members: isTexts });

const FIELDS = ['name', 'gid', 'description', 'members'] as const;
type FieldName = (typeof FIELDS)[number];

/** What can be seen to be wrong without the portal. */
const problemsOf = ({ name, gid }: Draft): Partial<Record<FieldName, string | undefined>> => ({
  name: name.trim() === '' ? t`Enter a name.` : undefined,
  gid: /^\d{0,10}$/.test(gid.trim()) ? undefined : t`Enter a number, or nothing.`,
});

/** As it is sent: what is empty is left out. */
const bodyOf = ({ name, gid, description, members }: Draft) => ({
  name: name.trim(),
  members,
  ...(gid.trim() === '' ? {} : { gid: Number(gid.trim()) }),
  ...(description.trim() === '' ? {} : { description: description.trim() }),
});

/** A group as it is being filled in; once it is made, its page comes. */
export function useNewGroup(onClose: () => void) {
  const navigate = useNavigate();
  const withPassword = useWithPassword();
  const form = useRef<HTMLFormElement>(null);
  const { draft, setDraft, kept } = useDraft('new-group', () => EMPTY, isDraft);
  const set = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const done = (): void => {
    kept.drop();
    onClose();
  };
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const wrong = problemsOf(draft);

  const create = async (): Promise<void> => {
    const body = bodyOf(draft);
    try {
      await withPassword(() => createGroup(body));
      done();
      await navigate({ to: '/admin/groups/$group', params: { group: body.name } });
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
    if (wrong.name || wrong.gid) return focusFirstProblem(form);
    setBusy(true);
    await create();
    setBusy(false);
  };

  const problem = (field: FieldName): string | undefined =>
    (tried ? wrong[field] : undefined) ?? fieldMessage(error, field);
  /** a refusal that belongs to no field */
  const elsewhere = FIELDS.some((field) => fieldMessage(error, field)) ? null : error;
  return { form, draft, set, kept, busy, problem, elsewhere, submit, done };
}
