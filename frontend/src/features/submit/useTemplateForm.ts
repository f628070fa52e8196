import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Cluster, Environment, JobDetail, ResourceRequest, TemplateDetail } from '@/api/types';
import { isTexts } from '@/lib/drafts';
import { useAnswer } from '@/lib/useAnswer';
import { type FormDraft, useDraftField, useFormDraft } from '@/lib/useFormDraft';
import { choicesOf, firstChoice } from './environments';
import {
  areTyped,
  emptyFieldErrors,
  type Field,
  fieldsOf,
  firstValues,
  type Parameters,
  type TypedValue,
  toParameters,
  type Values,
} from './fields';
import type { SubmitLink } from './link';
import { toOptionalRequest, useOptionalFields } from './OptionalFields';
import { renderQuery, sizingQuery } from './queries';
import { assignErrors } from './request';
import { useJobResources } from './useJobResources';
import { useSubmit } from './useSubmit';

export interface TemplateFormInput {
  template: TemplateDetail;
  environments: Environment[];
  cluster: Cluster;
  /** an earlier job to fill in */
  earlierJob: JobDetail | undefined;
  /** values of the address */
  link: SubmitLink;
}

/** The fields of a template's parameters, with their typed values. */
export interface ParametersState {
  fields: readonly Field[];
  values: Values;
  /** the values as they are sent */
  parameters: Parameters;
  /** whether the user has changed this field: its errors are shown from then on */
  isTouched: (name: string) => boolean;
  setValue: (typed: { name: string; value: TypedValue }) => void;
}

function useParameters(
  { template, earlierJob, link }: TemplateFormInput,
  draft: FormDraft,
): ParametersState {
  const [fields] = useState(() => fieldsOf(template.parameters));
  const given = link.parameters ?? earlierJob?.parameters;
  const [values, setValues] = useDraftField(
    draft,
    'values',
    () => firstValues(fields, given),
    areTyped(fields),
  );
  const [touched, setTouched] = useDraftField(
    draft,
    'touched',
    () => Object.keys(link.parameters ?? {}),
    isTexts,
  );
  return {
    fields,
    values,
    parameters: toParameters(fields, values),
    isTouched: (name) => touched.includes(name),
    setValue: ({ name, value }) => {
      setTouched((before) => [...new Set([...before, name])]);
      setValues((before) => ({ ...before, [name]: value }));
    },
  };
}

/** Render the script in the portal, and return errors of the parameters. */
function useRendering(
  template: TemplateDetail,
  { fields, values, parameters }: ParametersState,
  others: { environment?: string; resources: ResourceRequest },
) {
  const rendering = useAnswer({ parameters, ...others }, (request) =>
    renderQuery(template.name, request),
  );
  const { answer, isCurrent } = rendering;
  const names = fields.map((field) => field.name);
  const parameterErrors = answer?.error ? assignErrors(answer.error, names, []).parameters : {};
  const empty = emptyFieldErrors(fields, values);
  const isInvalid = isCurrent && Object.keys(parameterErrors).length > 0;
  return {
    rendering,
    /** messages by field */
    fieldErrors: { ...parameterErrors, ...empty },
    /** no field is empty, and the portal has not refused exactly these values */
    parametersPossible: Object.keys(empty).length === 0 && !isInvalid,
  };
}

/** Keep the chosen environment, for templates with several. */
function useEnvironment(
  { template, environments, earlierJob, link }: TemplateFormInput,
  draft: FormDraft,
) {
  const choices = choicesOf(template, environments, earlierJob?.environment ?? null);
  const [chosen, choose] = useDraftField(
    draft,
    'environment',
    () => firstChoice(template, choices, [link.environment, earlierJob?.environment]),
    (value): value is string => choices.some(({ name }) => name === value),
  );
  const known = choices.length === 0 || choices.some(({ name }) => name === link.environment);
  return {
    choices,
    chosen,
    choose,
    /** the address's environment, if it is unavailable */
    missing: known ? undefined : link.environment,
    /** the environment as it is sent */
    requested: choices.length > 0 ? { environment: chosen } : {},
  };
}

/** Keep the state of the form of a template's job, and submit it. */
export function useTemplateForm(input: TemplateFormInput) {
  const { template, cluster, earlierJob, link } = input;
  const isFilledByAddress = earlierJob !== undefined || Object.keys(link).length > 0;
  const draft = useFormDraft(`template ${template.name}`, {
    perHistoryEntry: isFilledByAddress,
  });
  const parametersState = useParameters(input, draft);
  const environmentChoice = useEnvironment(input, draft);
  const { requested } = environmentChoice;
  const [optionalValues, setOptionalValues] = useOptionalFields(draft, earlierJob);
  const { data: sizing } = useQuery(
    sizingQuery(
      earlierJob
        ? { job: earlierJob.id }
        : { template: template.name, environment: requested.environment ?? null },
    ),
  );
  const purpose = { template: template.name, ...requested };
  const resources = useJobResources({
    purpose,
    defaults: template.default_resources,
    earlier: earlierJob?.resources,
    cluster,
    sizing,
    applySizing: earlierJob === undefined,
    draft,
  });
  const { rendering, fieldErrors, parametersPossible } = useRendering(template, parametersState, {
    ...requested,
    resources: resources.requested,
  });
  const possible = parametersPossible && resources.possible && template.available;
  const allErrors = { ...fieldErrors, ...resources.fieldErrors };
  const request = {
    template: template.name,
    parameters: parametersState.parameters,
    ...requested,
    resources: resources.requested,
    ...toOptionalRequest(optionalValues),
  };
  const submitting = useSubmit({
    request: possible ? request : null,
    explicit: resources.explicit,
    parameters: parametersState.fields.map((field) => field.name),
    fields: ['name', 'logdir', 'environment'],
    draft,
    askAgain: resources.askAgain,
  });
  return {
    draft,
    purpose,
    parametersState,
    fieldErrors,
    rendering,
    environmentChoice,
    optionalValues,
    setOptionalValues,
    sizing,
    resources,
    /** by the last answers, even if values have changed since */
    valid: Object.keys(allErrors).length === 0 && template.available,
    submitting,
  };
}
