import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { sentence } from '@/api/problem';
import { nameOf } from '@/features/directory/names';
import { Notice } from '@/ui/Notice';
import { RestartableForm, RestoredNotice } from '@/ui/RestoredForm';
import classes from './EditDialog.module.css';
import { FIELDS, type Field, LABELS } from './edit';
import type { User } from './types';
import { useEditForm } from './useEditForm';

interface Props {
  user: User;
  opened: boolean;
  onClose: () => void;
}

/** The dialog that edits a user's directory entry. */
export function EditDialog({ user, opened, onClose }: Props) {
  const name = nameOf(user);
  return (
    <Modal opened={opened} onClose={onClose} title={t`Edit ${name}`} size="lg">
      <RestartableForm>
        {(startOver) => <EditForm user={user} onClose={onClose} onStartOver={startOver} />}
      </RestartableForm>
    </Modal>
  );
}

const HINTS: Partial<Record<Field, string>> = {
  gid: t`Of their primary group.`,
  display_name: t`The full name.`,
};

interface FormProps extends Omit<Props, 'opened'> {
  onStartOver: () => void;
}

function EditForm({ user, onClose, onStartOver }: FormProps) {
  const { editing, kept, message, set, settle, saving, done } = useEditForm(user, onClose);
  const { form, busy, error: problem, submit } = saving;
  const elsewhere = message === null ? saving.elsewhere(FIELDS) : null;
  const { draft, conflicts } = editing;
  return (
    <form ref={form} onSubmit={(event) => void submit(event)} noValidate>
      <Stack>
        <RestoredNotice draft={kept} onStartOver={onStartOver} />
        {message && (
          <Notice tone="warning" urgent>
            {message}
          </Notice>
        )}
        {elsewhere !== null && <Notice tone="error">{sentence(elsewhere)}</Notice>}
        <div className={classes.fields}>
          {FIELDS.map((field) => (
            <EditField
              key={field}
              field={field}
              value={draft[field]}
              theirs={conflicts[field]}
              problem={problem(field)}
              onChange={(value) => set(field, value)}
              onSettle={(value) => settle(field, value)}
            />
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

interface FieldProps {
  field: Field;
  value: string;
  /** the value that another user has saved since */
  theirs: string | undefined;
  problem: string | undefined;
  onChange: (value: string) => void;
  onSettle: (value: string) => void;
}

function EditField({ field, value, theirs, problem, onChange, onSettle }: FieldProps) {
  return (
    <div data-field={field}>
      <TextInput
        label={LABELS[field]}
        description={HINTS[field]}
        inputWrapperOrder={['label', 'input', 'error', 'description']}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        error={problem}
        inputMode={field === 'gid' ? 'numeric' : undefined}
        autoComplete="off"
        spellCheck={false}
        {...(field === 'given_name' ? { 'data-autofocus': true } : {})}
      />
      {theirs !== undefined && (
        <div className={classes.theirs}>
          <span>{nowText(theirs)}</span>
          <Button size="compact-xs" variant="default" onClick={() => onSettle(theirs)}>
            <Trans>Take this</Trans>
          </Button>
        </div>
      )}
    </div>
  );
}

const nowText = (value: string): string => (value === '' ? t`Now: (empty)` : t`Now: ${value}`);
