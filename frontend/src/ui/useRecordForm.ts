import { type ChangeEvent, type FormEvent, type RefObject, useRef, useState } from 'react';
import { fieldMessage } from '@/api/problem';
import { useWithPassword } from '@/lib/reauth';
import { type FormDraft, type SetValue, useDraftField } from '@/lib/useFormDraft';
import { useFocusError } from './focus';
import { Cancelled } from './showError';

/** Errors by field, as the API names them. */
export type FieldErrors = Readonly<Partial<Record<string, string>>>;

interface FormOptions<V, R> {
  /** where the values are stored until the form is saved; by default nowhere */
  draft?: FormDraft;
  /** the type guard of stored values */
  isValid?: (value: unknown) => value is V;
  initial: () => V;
  /** the fields that show their errors */
  fields: readonly string[];
  /** the errors that the form itself detects */
  check?: (values: V) => FieldErrors;
  /** rejects with the portal's error */
  save: (values: V) => Promise<R>;
  /** called after the form was saved and its draft deleted */
  saved?: (result: R) => unknown;
  /** called with an error, before it is shown */
  failed?: (submitError: unknown) => unknown;
  /** a field's message in an error */
  fieldError?: (submitError: unknown, field: string) => string | undefined;
}

type TextInputElement = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

/** The names of the values that are texts. */
type TextName<V> = { [K in keyof V]: V[K] extends string ? K : never }[keyof V] & string;

export interface Form<V> {
  values: V;
  set: (change: Partial<V>) => void;
  setValues: SetValue<V>;
  /** deletes the draft and resets the form */
  startOver: () => void;
  /** deletes only the draft, for example when the form is closed without saving */
  discard: () => void;
  draft: FormDraft;
  ref: RefObject<HTMLFormElement | null>;
  busy: boolean;
  submit: (event: FormEvent) => void;
  /** a field's error; those that the form itself detects appear only after the first attempt */
  error: (field: string) => string | undefined;
  /** the props of an input for a text; `field`: the API's name of it */
  text: (
    name: TextName<V>,
    field?: string,
  ) => {
    value: string;
    onChange: (event: ChangeEvent<TextInputElement>) => void;
    error: string | undefined;
  };
  /** the portal's error; null if there is none */
  submitError: unknown;
  /** an error that no field shows; else null */
  generalError: unknown;
}

const NO_DRAFT: FormDraft = { stored: {}, since: null, put: () => {}, drop: () => {} };

const isNeverStored = (_: unknown): _ is never => false;

/**
 * The state of a form: its values, stored as a draft, and its submission. Validates, saves once at a
 * time, asks for the password if the portal requires it, assigns errors to fields, and focuses the
 * first error.
 */
export function useRecordForm<V, R = unknown>(options: FormOptions<V, R>): Form<V> {
  const { initial, fields, check = () => ({}), save, saved, failed } = options;
  const { draft = NO_DRAFT, isValid = isNeverStored, fieldError = fieldMessage } = options;
  const withPassword = useWithPassword();
  const ref = useRef<HTMLFormElement>(null);
  const focusProblem = useFocusError(ref);
  const [values, setValues] = useDraftField<V>(draft, 'values', initial, isValid);
  const [tried, setTried] = useState(false);
  const [submitError, setSubmitError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);

  const submit = async (): Promise<void> => {
    if (busy) return;
    setTried(true);
    setSubmitError(null);
    if (Object.keys(check(values)).length > 0) return focusProblem();
    setBusy(true);
    try {
      const result = await withPassword(() => save(values));
      setTried(false);
      draft.drop();
      await saved?.(result);
    } catch (error) {
      if (error instanceof Cancelled) return;
      await failed?.(error);
      setSubmitError(error);
      focusProblem();
    } finally {
      setBusy(false);
    }
  };

  const errors: FieldErrors = tried ? check(values) : {};
  const error = (field: string): string | undefined =>
    errors[field] ?? fieldError(submitError, field);
  const set = (change: Partial<V>): void => setValues((before) => ({ ...before, ...change }));
  return {
    values,
    set,
    setValues,
    startOver: () => {
      setValues(initial());
      draft.drop();
      setTried(false);
      setSubmitError(null);
    },
    discard: draft.drop,
    draft,
    ref,
    busy,
    submit: (event) => {
      if (event.target !== event.currentTarget) return; // submitted by a dialog inside
      event.preventDefault();
      void submit();
    },
    error,
    text: (name, field = name) => ({
      value: values[name] as string,
      onChange: (event) => set({ [name]: event.currentTarget.value } as Partial<V>),
      error: error(field),
    }),
    submitError,
    generalError: fields.some((field) => fieldError(submitError, field)) ? null : submitError,
  };
}
