import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, type RefObject, useRef, useState } from 'react';
import type { JobRequest } from '@/api/types';
import { submitJob } from '@/features/jobs/actions';
import type { FormDraft } from '@/lib/useFormDraft';
import { focusFirstProblem } from '@/ui/focus';
import { NO_REFUSAL, type Refusal, refusalOf } from './request';

interface SubmitForm {
  /** what is to be submitted; null while something in the form is wrong */
  request: JobRequest | null;
  parameters: readonly string[];
  fields: readonly string[];
  draft: FormDraft;
}

export interface Submitting {
  form: RefObject<HTMLFormElement | null>;
  busy: boolean;
  /** whether one has tried: only then what is still empty is called wrong */
  tried: boolean;
  refusal: Refusal;
  submit: (event: FormEvent) => void;
  /** makes the change, which answers the last refusal */
  change: <T>(set: (value: T) => void) => (value: T) => void;
}

/** Submits what a form says, shows where it was refused, and goes to the job. */
export function useSubmit({ request, parameters, fields, draft }: SubmitForm): Submitting {
  const navigate = useNavigate();
  const form = useRef<HTMLFormElement>(null);
  const [busy, setBusy] = useState(false);
  const [tried, setTried] = useState(false);
  const [refusal, setRefusal] = useState(NO_REFUSAL);

  const submit = async (): Promise<void> => {
    if (busy) return;
    setTried(true);
    if (request === null) return focusFirstProblem(form);
    setBusy(true);
    try {
      const job = await submitJob(request);
      draft.drop();
      await navigate({ to: '/jobs/$id', params: { id: job.id } });
    } catch (error) {
      setRefusal(refusalOf(error, parameters, fields));
      focusFirstProblem(form);
    } finally {
      setBusy(false);
    }
  };

  return {
    form,
    busy,
    tried,
    refusal,
    submit: (event) => {
      // In React the forms of dialogs are inside this one, too.
      if (event.target !== event.currentTarget) return;
      event.preventDefault();
      void submit();
    },
    change: (set) => (value) => {
      setRefusal(NO_REFUSAL);
      set(value);
    },
  };
}
