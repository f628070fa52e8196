import { type FormEvent, type RefObject, useRef, useState } from 'react';
import { fieldMessage } from '@/api/problem';
import { useWithPassword } from '@/lib/reauth';
import { useFocusProblem } from '@/ui/focus';
import { Cancelled } from './showError';

type Errors = Readonly<Partial<Record<string, string>>>;

interface SavingOptions {
  /** the errors that the form itself detects, by field */
  check?: () => Errors;
  /** rejects with the portal's refusal */
  save: () => Promise<unknown>;
  /** called with a refusal, before it is shown */
  failed?: (error: unknown) => unknown;
}

interface Saving {
  form: RefObject<HTMLFormElement | null>;
  busy: boolean;
  /** the portal's refusal; null if there is none */
  refusal: unknown;
  submit: (event: FormEvent) => Promise<void>;
  /** a field's error; those that the form itself detects appear only after the first attempt */
  error: (field: string) => string | undefined;
  /** a refusal that belongs to none of these fields; null if it does */
  elsewhere: (fields: readonly string[]) => unknown;
}

/** The saving of a form: validates, saves once at a time, asks for the password if the portal
 * requires it, and assigns refusals to fields. */
export function useSaving({ check = () => ({}), save, failed }: SavingOptions): Saving {
  const withPassword = useWithPassword();
  const form = useRef<HTMLFormElement>(null);
  const focusProblem = useFocusProblem(form);
  const [tried, setTried] = useState(false);
  const [refusal, setRefusal] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);

  const submit = async (event: FormEvent): Promise<void> => {
    if (event.target !== event.currentTarget) return; // submitted by a dialog inside
    event.preventDefault();
    if (busy) return;
    setTried(true);
    setRefusal(null);
    if (Object.keys(check()).length > 0) return focusProblem();
    setBusy(true);
    try {
      await withPassword(save);
      setTried(false);
    } catch (error) {
      if (error instanceof Cancelled) return;
      await failed?.(error);
      setRefusal(error);
      focusProblem();
    } finally {
      setBusy(false);
    }
  };

  const errors = tried ? check() : {};
  return {
    form,
    busy,
    refusal,
    submit,
    error: (field) => errors[field] ?? fieldMessage(refusal, field),
    elsewhere: (fields) => (fields.some((field) => fieldMessage(refusal, field)) ? null : refusal),
  };
}
