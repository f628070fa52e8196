import { t } from '@lingui/core/macro';
import { useNavigate } from '@tanstack/react-router';
import { isLike, isText, isTexts } from '@/lib/drafts';
import { useFormDraft } from '@/lib/useFormDraft';
import { type Form, useRecordForm } from '@/ui/useRecordForm';
import { createGroup } from './actions';

export interface GroupValues {
  name: string;
  gid: string;
  description: string;
  members: string[];
}

const EMPTY: GroupValues = { name: '', gid: '', description: '', members: [] };
const isGroupValues = isLike<GroupValues>({
  name: isText,
  gid: isText,
  description: isText,
  members: isTexts,
});

const FIELDS = ['name', 'gid', 'description', 'members'] as const;
type FieldName = (typeof FIELDS)[number];

/** Return the problems that can be detected without the portal. */
const check = ({ name, gid }: GroupValues): Partial<Record<FieldName, string>> => ({
  ...(name.trim() === '' ? { name: t`Enter a name.` } : {}),
  ...(/^\d{0,10}$/.test(gid.trim()) ? {} : { gid: t`Enter a number, or leave the field empty.` }),
});

/** Build the request body, without empty fields. */
const bodyOf = ({ name, gid, description, members }: GroupValues) => ({
  name: name.trim(),
  members,
  ...(gid.trim() === '' ? {} : { gid: Number(gid.trim()) }),
  ...(description.trim() === '' ? {} : { description: description.trim() }),
});

/** The form of a new group; navigates to the group once it is created. */
export function useNewGroup(onClose: () => void): Form<GroupValues> {
  const navigate = useNavigate();
  return useRecordForm({
    draft: useFormDraft('new-group'),
    isValid: isGroupValues,
    initial: () => EMPTY,
    fields: FIELDS,
    check,
    save: async (values) => {
      const body = bodyOf(values);
      await createGroup(body);
      return body.name;
    },
    saved: async (group) => {
      onClose();
      await navigate({ to: '/admin/groups/$group', params: { group } });
    },
  });
}
