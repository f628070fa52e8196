import { plural } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import formClasses from '@/ui/FormPage.module.css';
import { ParameterField } from './ParameterField';
import classes from './SubmitPage.module.css';
import type { Submitting } from './useSubmit';
import type { ParametersState } from './useTemplateForm';

interface Props {
  parametersState: ParametersState;
  fieldErrors: Record<string, string>;
  /** the number of array tasks; null if the job is no array */
  tasks: number | null;
  submitting: Submitting;
}

/** The fields of a template's parameters, and the resulting number of tasks. */
export function ParameterFields({ parametersState, fieldErrors, tasks, submitting }: Props) {
  const { fields, values, isTouched } = parametersState;
  const { submitErrors, tried, change } = submitting;
  const setValue = change(parametersState.setValue);
  if (fields.length === 0) return null;
  return (
    <fieldset className={formClasses.group}>
      <legend>
        <Trans>Parameters</Trans>
      </legend>
      <div className={`${formClasses.fields} ${classes.parameters}`}>
        {fields.map((field) => (
          <ParameterField
            key={field.name}
            field={field}
            value={values[field.name] ?? ''}
            error={
              submitErrors.parameters[field.name] ??
              (tried || isTouched(field.name) ? fieldErrors[field.name] : undefined)
            }
            onChange={(value) => setValue({ name: field.name, value })}
          />
        ))}
      </div>
      {tasks !== null && (
        <p className={classes.tasks} role="status">
          {plural(tasks, {
            one: 'One job with one task.',
            other: 'One job with # tasks, one for each combination.',
          })}
        </p>
      )}
    </fieldset>
  );
}
