import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { fieldMessage, sentence } from '@/api/problem';
import { useWithPassword } from '@/features/account/reauth';
import { Chips } from '@/features/people/Chips';
import { PersonPick } from '@/features/people/SearchPick';
import { isLike, isText, isTexts } from '@/lib/drafts';
import { useDraft } from '@/lib/useFormDraft';
import { Cancelled } from '@/ui/complain';
import { focusFirstProblem } from '@/ui/focus';
import { Notice } from '@/ui/Notice';
import { Anew, AsYouLeftIt } from '@/ui/StartOver';
import { createGroup } from './actions';

interface Props {
  opened: boolean;
  onClose: () => void;
}

export function NewGroupDialog({ opened, onClose }: Props) {
  return (
    <Modal opened={opened} onClose={onClose} title={t`New group`} closeOnClickOutside={false}>
      <Anew>{(startOver) => <Form onClose={onClose} onStartOver={startOver} />}</Anew>
    </Modal>
  );
}

interface Draft {
  name: string;
  gid: string;
  description: string;
  members: string[];
}

const EMPTY: Draft = { name: '', gid: '', description: '', members: [] };
const isDraft = isLike<Draft>({ name: isText, gid: isText, description: isText, members: isTexts });

interface FormProps {
  onClose: () => void;
  onStartOver: () => void;
}

function Form({ onClose, onStartOver }: FormProps) {
  const navigate = useNavigate();
  const withPassword = useWithPassword();
  const form = useRef<HTMLFormElement>(null);
  const { draft, setDraft, kept } = useDraft('new-group', () => EMPTY, isDraft);
  const { name, gid, description, members } = draft;
  const set = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const done = (): void => {
    kept.drop();
    onClose();
  };
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const nameMissing = name.trim() === '' ? t`Enter a name.` : undefined;
  const gidWrong = /^\d{0,10}$/.test(gid.trim()) ? undefined : t`Enter a number, or nothing.`;

  const create = async (): Promise<void> => {
    const group = name.trim();
    const body = {
      name: group,
      members,
      ...(gid.trim() === '' ? {} : { gid: Number(gid.trim()) }),
      ...(description.trim() === '' ? {} : { description: description.trim() }),
    };
    try {
      await withPassword(() => createGroup(body));
      done();
      await navigate({ to: '/admin/groups/$group', params: { group } });
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
    if (nameMissing || gidWrong) return focusFirstProblem(form);
    setBusy(true);
    await create();
    setBusy(false);
  };

  const fields = ['name', 'gid', 'description', 'members'];
  const elsewhere = error !== null && !fields.some((field) => fieldMessage(error, field));
  return (
    <form ref={form} onSubmit={(event) => void submit(event)} noValidate>
      <Stack>
        <AsYouLeftIt draft={kept} onStartOver={onStartOver} />
        {elsewhere && <Notice tone="error">{sentence(error)}</Notice>}
        <TextInput
          label={t`Name`}
          value={name}
          onChange={(event) => set({ name: event.currentTarget.value })}
          error={(tried && nameMissing) || fieldMessage(error, 'name')}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          data-autofocus
        />
        <TextInput
          label={t`What it is for, optional`}
          value={description}
          onChange={(event) => set({ description: event.currentTarget.value })}
          error={fieldMessage(error, 'description')}
          autoComplete="off"
        />
        <TextInput
          label={t`Number (gid)`}
          description={t`The next free one, if empty.`}
          inputWrapperOrder={['label', 'input', 'error', 'description']}
          inputMode="numeric"
          value={gid}
          onChange={(event) => set({ gid: event.currentTarget.value })}
          error={(tried && gidWrong) || fieldMessage(error, 'gid')}
          autoComplete="off"
        />
        <PersonPick
          label={t`Members`}
          placeholder={t`Type to find someone`}
          without={members}
          error={fieldMessage(error, 'members')}
          onPick={(username) => set({ members: [...members, username] })}
        />
        {members.length > 0 && (
          <Chips
            label={t`Chosen members`}
            names={members}
            onRemove={async (username) =>
              set({ members: members.filter((one) => one !== username) })
            }
            removeLabel={(username) => t`Leave out ${username}`}
          />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={done}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" loading={busy}>
            <Trans>Create group</Trans>
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
