import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Stack, Text } from '@mantine/core';
import { type FormEvent, useRef, useState } from 'react';
import { CodeField } from '@/features/login/CodeField';
import { codeRefusal } from '@/features/login/secondFactor';
import { useFocusProblem } from '@/ui/focus';
import { Cancelled } from '@/ui/showError';

interface Props {
  text: string;
  button: string;
  /** rejects with the portal's refusal */
  onCode: (code: string) => Promise<void>;
  onCancel: () => void;
}

/** A form for the code that confirms weakening the second factor. */
export function CodeForm({ text, button, onCode, onCancel }: Props) {
  const form = useRef<HTMLFormElement>(null);
  const focusProblem = useFocusProblem(form);
  const [code, setCode] = useState('');
  const [refusal, setRefusal] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);

  const refuse = (why: string): void => {
    setRefusal(why);
    focusProblem();
  };

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (busy) return;
    if (code.trim() === '') return refuse(t`Enter a code.`);
    setBusy(true);
    try {
      await onCode(code);
    } catch (reason) {
      if (!(reason instanceof Cancelled)) refuse(codeRefusal(reason));
    } finally {
      setBusy(false);
    }
  };

  return (
    <form ref={form} onSubmit={(event) => void submit(event)} noValidate>
      <Stack>
        <Text size="sm">{text}</Text>
        <CodeField
          label={t`Code from your app, or a recovery code`}
          value={code}
          onChange={setCode}
          error={refusal}
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={onCancel}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" loading={busy}>
            {button}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
