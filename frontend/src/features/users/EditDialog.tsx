import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, TextInput } from '@mantine/core';
import { displayNameOf } from '@/features/directory/names';
import { DialogShell } from '@/ui/ConfirmDialog';
import { Notice } from '@/ui/Notice';
import { RecordForm } from '@/ui/RecordForm';
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
  const name = displayNameOf(user);
  return (
    <DialogShell opened={opened} onClose={onClose} title={t`Edit ${name}`} size="lg">
      <EditForm user={user} onClose={onClose} />
    </DialogShell>
  );
}

const HINTS: Partial<Record<Field, string>> = {
  gid: t`Of their primary group.`,
  display_name: t`The full name.`,
};

function EditForm({ user, onClose }: Omit<Props, 'opened'>) {
  const { form, message, set, resolveConflict } = useEditForm(user, onClose);
  const { draft, conflicts } = form.values;
  const conflict = message !== null && (
    <Notice tone="warning" urgent>
      {message}
    </Notice>
  );
  return (
    <RecordForm
      form={form}
      button={<Trans>Save</Trans>}
      onCancel={onClose}
      message={conflict || undefined}
    >
      <div className={classes.fields}>
        {FIELDS.map((field) => (
          <EditField
            key={field}
            field={field}
            value={draft[field]}
            theirs={conflicts[field]}
            error={form.error(field)}
            onChange={(value) => set(field, value)}
            onResolve={(value) => resolveConflict(field, value)}
          />
        ))}
      </div>
    </RecordForm>
  );
}

interface FieldProps {
  field: Field;
  value: string;
  /** the value that another user has saved since */
  theirs: string | undefined;
  error: string | undefined;
  onChange: (value: string) => void;
  onResolve: (value: string) => void;
}

function EditField({ field, value, theirs, error, onChange, onResolve }: FieldProps) {
  return (
    <div data-field={field}>
      <TextInput
        label={LABELS[field]}
        description={HINTS[field]}
        inputWrapperOrder={['label', 'input', 'error', 'description']}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        error={error}
        inputMode={field === 'gid' ? 'numeric' : undefined}
        autoComplete="off"
        spellCheck={false}
        {...(field === 'given_name' ? { 'data-autofocus': true } : {})}
      />
      {theirs !== undefined && (
        <div className={classes.theirs}>
          <span>{nowText(theirs)}</span>
          <Button size="compact-xs" variant="default" onClick={() => onResolve(theirs)}>
            <Trans>Use this value</Trans>
          </Button>
        </div>
      )}
    </div>
  );
}

const nowText = (value: string): string => (value === '' ? t`Now: (empty)` : t`Now: ${value}`);
