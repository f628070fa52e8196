import { t } from '@lingui/core/macro';
import { Text } from '@mantine/core';
import { CodeField } from '@/features/login/CodeField';
import { codeErrorMessage } from '@/features/login/secondFactor';
import { RecordForm } from '@/ui/RecordForm';
import { useRecordForm } from '@/ui/useRecordForm';

interface Props {
  text: string;
  button: string;
  /** rejects with the portal's error */
  onCode: (code: string) => Promise<void>;
  onCancel: () => void;
}

/** A form for the code that confirms new recovery codes, or turning two-factor authentication off. */
export function CodeForm({ text, button, onCode, onCancel }: Props) {
  const form = useCodeForm(t`Enter a code.`, onCode);
  return (
    <RecordForm form={form} button={button} onCancel={onCancel}>
      <Text size="sm">{text}</Text>
      <CodeField
        label={t`Code from your app, or a recovery code`}
        value={form.values.code}
        onChange={(code) => form.set({ code })}
        error={form.error('code') ?? null}
      />
    </RecordForm>
  );
}

/** The state of a form with one code field. `missing`: the error if it is empty. */
export const useCodeForm = (missing: string, save: (code: string) => Promise<unknown>) =>
  useRecordForm({
    initial: () => ({ code: '' }),
    fields: ['code'],
    check: ({ code }) => (code.trim() === '' ? { code: missing } : {}),
    save: ({ code }) => save(code),
    fieldError: (error) => (error === null ? undefined : codeErrorMessage(error)),
  });
