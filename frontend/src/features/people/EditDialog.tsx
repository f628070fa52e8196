import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useRef, useState } from 'react';
import { ApiError, fieldMessage, sentence } from '@/api/problem';
import { useWithPassword } from '@/features/account/reauth';
import { sentences, together } from '@/i18n/lists';
import { clock } from '@/lib/clock';
import { localTime } from '@/lib/time';
import { useDraft } from '@/lib/useFormDraft';
import { Cancelled } from '@/ui/complain';
import { focusFirstProblem } from '@/ui/focus';
import { Notice } from '@/ui/Notice';
import { Anew, AsYouLeftIt } from '@/ui/StartOver';
import { editPerson } from './actions';
import classes from './EditDialog.module.css';
import {
  baseOf,
  changes,
  draftOf,
  type Editing,
  FIELDS,
  type Field,
  formErrors,
  isEditing,
  LABELS,
  type Merged,
  merge,
} from './edit';
import { personQuery } from './queries';
import type { Person } from './shapes';
import { nameOf } from './words';

interface Props {
  person: Person;
  opened: boolean;
  onClose: () => void;
}

/** Changes what the directory says of someone. */
export function EditDialog({ person, opened, onClose }: Props) {
  const name = nameOf(person);
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t`Edit ${name}`}
      size="lg"
      closeOnClickOutside={false}
    >
      <Anew>
        {(startOver) => <EditForm person={person} onClose={onClose} onStartOver={startOver} />}
      </Anew>
    </Modal>
  );
}

const HINTS: Partial<Record<Field, string>> = {
  gid: t`Of their primary group.`,
  display_name: t`The whole name.`,
};

interface FormProps extends Omit<Props, 'opened'> {
  onStartOver: () => void;
}

function EditForm({ person, onClose, onStartOver }: FormProps) {
  const queries = useQueryClient();
  const withPassword = useWithPassword();
  const form = useRef<HTMLFormElement>(null);
  const {
    draft: editing,
    setDraft: edit,
    kept,
  } = useDraft(
    `person ${person.username}`,
    (): Editing => ({ base: baseOf(person), draft: draftOf(person), conflicts: {} }),
    isEditing,
  );
  const { base, draft, conflicts } = editing;
  const [told, setTold] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);

  const set = (field: Field, value: string): void =>
    edit((before) => ({ ...before, draft: { ...before.draft, [field]: value } }));
  const settle = (field: Field, value: string): void => {
    const { [field]: _, ...others } = conflicts;
    edit((before) => ({
      ...before,
      draft: { ...before.draft, [field]: value },
      conflicts: others,
    }));
  };
  const done = (): void => {
    kept.drop();
    onClose();
  };

  /** Somebody else saved first: their values come in beside what was typed here. */
  const meet = async (refusal: ApiError): Promise<void> => {
    const fresh = await queries.fetchQuery({ ...personQuery(person.username), staleTime: 0 });
    const merged = merge(base, draft, fresh);
    edit({ base: baseOf(fresh), draft: merged.draft, conflicts: merged.conflicts });
    setTold(meetingText(refusal, merged));
  };

  const save = async (): Promise<void> => {
    const wanted = changes(base, draft);
    if (Object.keys(wanted).length === 0) return done();
    try {
      await withPassword(() => editPerson(person.username, wanted, base.version));
      const name = nameOf(person);
      notifications.show({ message: t`${name} is changed in the directory.` });
      done();
    } catch (refusal) {
      if (refusal instanceof Cancelled) return;
      if (isMeeting(refusal)) return meet(refusal);
      setError(refusal);
      focusFirstProblem(form);
    }
  };

  const submit = async (event: FormEvent): Promise<void> => {
    if (event.target !== event.currentTarget) return; // of a dialog within
    event.preventDefault();
    if (busy) return;
    setError(null);
    setTold(null);
    if (Object.keys(formErrors(draft)).length > 0) return focusFirstProblem(form);
    setBusy(true);
    await save().catch(setError);
    setBusy(false);
  };

  const errors = formErrors(draft);
  const problem = (field: Field): string | undefined => errors[field] ?? fieldMessage(error, field);
  const elsewhere = error !== null && !FIELDS.some((field) => fieldMessage(error, field));
  return (
    <form ref={form} onSubmit={(event) => void submit(event)} noValidate>
      <Stack>
        <AsYouLeftIt draft={kept} onStartOver={onStartOver} />
        {told && (
          <Notice tone="warning" urgent>
            {told}
          </Notice>
        )}
        {elsewhere && <Notice tone="error">{sentence(error)}</Notice>}
        <div className={classes.fields}>
          {FIELDS.map((field) => (
            <div key={field} data-field={field}>
              <TextInput
                label={LABELS[field]}
                description={HINTS[field]}
                inputWrapperOrder={['label', 'input', 'error', 'description']}
                value={draft[field]}
                onChange={(event) => set(field, event.currentTarget.value)}
                error={problem(field)}
                inputMode={field === 'gid' ? 'numeric' : undefined}
                autoComplete="off"
                spellCheck={false}
                {...(field === 'given_name' ? { 'data-autofocus': true } : {})}
              />
              {conflicts[field] !== undefined && (
                <div className={classes.theirs}>
                  <span>{nowText(conflicts[field])}</span>
                  <Button
                    size="compact-xs"
                    variant="default"
                    onClick={() => settle(field, conflicts[field] ?? '')}
                  >
                    <Trans>Take this</Trans>
                  </Button>
                </div>
              )}
            </div>
          ))}
        </div>
        <Group justify="flex-end">
          <Button variant="default" onClick={done}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" loading={busy}>
            <Trans>Save</Trans>
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

const nowText = (value: string): string => (value === '' ? t`Now: (empty)` : t`Now: ${value}`);

const isMeeting = (error: unknown): error is ApiError =>
  error instanceof ApiError &&
  (error.slug === 'changed-meanwhile' || error.slug === 'directory-changed');

/** Who it was, what of theirs is in the form now, and what both of them changed. */
function meetingText(refusal: ApiError, { taken, conflicts }: Merged): string {
  const names = (fields: Field[]): string => together(fields.map((field) => LABELS[field]));
  const { changed_by: who, changed_at: at } = refusal.more;
  const when = typeof at === 'string' ? localTime(at, clock.now()) : null;
  const lines = [whoText(typeof who === 'string' ? who : null, when)];
  const left = names(taken);
  if (left !== '') lines.push(t`Filled in as they left it: ${left}.`);
  const both = names(Object.keys(conflicts) as Field[]);
  if (both !== '') lines.push(t`You both changed: ${both}. What you typed is still there.`);
  return sentences([...lines, t`Nothing of yours is saved yet.`]);
}

function whoText(who: string | null, when: string | null): string {
  if (who === null) return t`Meanwhile somebody else has changed the same person.`;
  return when === null
    ? t`Meanwhile ${who} has changed the same person.`
    : t`Meanwhile ${who}, ${when}, has changed the same person.`;
}
