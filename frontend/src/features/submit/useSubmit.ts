import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, type RefObject, useRef, useState } from 'react';
import type { JobRequest, ResourceRequest } from '@/api/types';
import { submitJob } from '@/features/jobs/actions';
import type { FormDraft } from '@/lib/useFormDraft';
import { useFocusError } from '@/ui/focus';
import { assignErrors, NO_ERRORS, type SubmitErrors } from './request';

type Messages = Readonly<Record<string, string>>;

interface SubmitForm {
  /** the request to submit; null if the form is invalid */
  request: JobRequest | null;
  /** its resources, without fields that the portal has filled in */
  explicit: ResourceRequest;
  /** the names of the template's parameters */
  parameters: readonly string[];
  /** the names of the form's fields besides parameters and resources */
  fields: readonly string[];
  draft: FormDraft;
  /** asks the portal again after an error */
  askAgain: () => void;
}

export interface Submitting {
  form: RefObject<HTMLFormElement | null>;
  busy: boolean;
  /** whether the user has tried to submit: errors of empty fields are shown from then on */
  tried: boolean;
  submitErrors: SubmitErrors;
  /** returns these errors; none if they are older than those of a refused submission, which are shown
   * instead. `isCurrent`: whether they are about the present values */
  errorsToShow: (errors: Messages, isCurrent: boolean) => Messages;
  submit: (event: FormEvent) => void;
  /** wraps a setter so that it also clears the last errors */
  change: <T>(set: (value: T) => void) => (value: T) => void;
}

/** Submit a form and open the job's page, or show the errors at their fields. */
export function useSubmit({
  request,
  explicit,
  parameters,
  fields,
  draft,
  askAgain,
}: SubmitForm): Submitting {
  const navigate = useNavigate();
  const form = useRef<HTMLFormElement>(null);
  const focusError = useFocusError(form);
  const [busy, setBusy] = useState(false);
  const [tried, setTried] = useState(false);
  const [submitErrors, setSubmitErrors] = useState(NO_ERRORS);

  const submit = async (): Promise<void> => {
    if (busy) return;
    setTried(true);
    if (request === null) return focusError();
    setBusy(true);
    try {
      const job = await submitJob(request, { ...request, resources: explicit });
      draft.drop();
      await navigate({ to: '/jobs/$id', params: { id: job.id } });
    } catch (error) {
      setSubmitErrors(assignErrors(error, parameters, fields));
      askAgain();
      focusError();
    } finally {
      setBusy(false);
    }
  };

  return {
    form,
    busy,
    tried,
    submitErrors,
    errorsToShow: (errors, isCurrent) => (submitErrors === NO_ERRORS || isCurrent ? errors : {}),
    submit: (event) => {
      // Submit events of forms in dialogs bubble to this form in React.
      if (event.target !== event.currentTarget) return;
      event.preventDefault();
      void submit();
    },
    change: (set) => (value) => {
      setSubmitErrors(NO_ERRORS);
      set(value);
    },
  };
}
