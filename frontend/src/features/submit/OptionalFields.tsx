import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { TextInput } from '@mantine/core';
import type { JobDetail } from '@/api/types';
import { isLike, isText } from '@/lib/drafts';
import { type FormDraft, type SetValue, useDraftField } from '@/lib/useFormDraft';
import formClasses from '@/ui/FormPage.module.css';
import classes from './SubmitPage.module.css';

export interface OptionalValues {
  name: string;
  logdir: string;
}

const isOptionalValues = isLike<OptionalValues>({ name: isText, logdir: isText });

/** Keep the optional fields, with an earlier job's name as the initial one. */
export function useOptionalFields(
  draft: FormDraft,
  earlierJob: JobDetail | undefined,
): [OptionalValues, SetValue<OptionalValues>] {
  return useDraftField(
    draft,
    'more',
    () => ({ name: earlierJob?.name ?? '', logdir: '' }),
    isOptionalValues,
  );
}

interface Props {
  value: OptionalValues;
  /** the name of a job without one of its own */
  defaultName: string;
  fieldErrors: Record<string, string>;
  onChange: (value: OptionalValues) => void;
}

const EXACT = { autoComplete: 'off', autoCapitalize: 'none', spellCheck: false } as const;

/** A job's name and TensorBoard's folder. */
export function OptionalFields({ value, defaultName, fieldErrors, onChange }: Props) {
  return (
    <fieldset className={formClasses.group}>
      <legend>
        <Trans>Name and TensorBoard</Trans>
      </legend>
      <div className={`${formClasses.fields} ${classes.parameters}`}>
        <TextInput
          label={t`Name, optional`}
          placeholder={defaultName}
          value={value.name}
          onChange={(event) => onChange({ ...value, name: event.currentTarget.value })}
          error={fieldErrors.name}
          autoComplete="off"
        />
        <TextInput
          {...EXACT}
          label={t`TensorBoard folder, optional`}
          placeholder={t`the job's own`}
          value={value.logdir}
          onChange={(event) => onChange({ ...value, logdir: event.currentTarget.value })}
          error={fieldErrors.logdir}
        />
      </div>
    </fieldset>
  );
}

/** Return the fields of the request, without empty ones. */
export function toOptionalRequest({ name, logdir }: OptionalValues): {
  name?: string;
  logdir?: string;
} {
  return {
    ...(name.trim() === '' ? {} : { name: name.trim() }),
    ...(logdir.trim() === '' ? {} : { logdir: logdir.trim() }),
  };
}
