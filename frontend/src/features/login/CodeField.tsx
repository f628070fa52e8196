import { TextInput } from '@mantine/core';
import type { Ref } from 'react';

interface Props {
  label: string;
  value: string;
  onChange: (code: string) => void;
  error: string | null;
  description?: string;
  ref?: Ref<HTMLInputElement>;
}

/** A field for a code of the authenticator app, or a recovery code. Phones offer digits. */
export function CodeField({ label, value, onChange, error, description, ref }: Props) {
  return (
    <TextInput
      ref={ref}
      label={label}
      description={description}
      name="code"
      autoComplete="one-time-code"
      autoCapitalize="none"
      autoCorrect="off"
      spellCheck={false}
      maxLength={40}
      data-autofocus
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
    />
  );
}
