import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Cluster, Environment, JobDetail, TemplateDetail } from '@/api/types';
import { isTexts } from '@/lib/drafts';
import { type FormDraft, useFormDraft, useKept } from '@/lib/useFormDraft';
import { choicesOf, firstChoice } from './environments';
import {
  areTyped,
  type Field,
  fieldProblems,
  fieldsOf,
  firstValues,
  type Parameters,
  type Typed,
  taskCount,
  toParameters,
  type Values,
} from './fields';
import type { Filled } from './link';
import { toMore, useMore } from './MoreFields';
import { sizingQuery } from './queries';
import { useResources } from './useResources';
import { useSubmit } from './useSubmit';

export interface Begin {
  template: TemplateDetail;
  environments: Environment[];
  cluster: Cluster;
  /** an earlier job to begin with */
  from: JobDetail | undefined;
  /** what the address fills in */
  filled: Filled;
}

/** What is typed into the fields of a template's parameters. */
export interface ParametersState {
  fields: readonly Field[];
  values: Values;
  /** what is wrong with it, by field */
  problems: Record<string, string>;
  /** whether nothing is */
  right: boolean;
  /** as they are sent */
  parameters: Parameters;
  /** of an array; null for what is none */
  tasks: number | null;
  /** someone has been at this field, so that it can be called wrong */
  isTouched: (name: string) => boolean;
  type: (typed: { name: string; value: Typed }) => void;
}

function useParameters({ template, from, filled }: Begin, kept: FormDraft): ParametersState {
  const [fields] = useState(() => fieldsOf(template.parameters));
  const given = filled.parameters ?? from?.parameters;
  const [values, setValues] = useKept(
    kept,
    'values',
    () => firstValues(fields, given),
    areTyped(fields),
  );
  const [touched, setTouched] = useKept(
    kept,
    'touched',
    () => Object.keys(filled.parameters ?? {}),
    isTexts,
  );
  const problems = fieldProblems(fields, values);
  const parameters = toParameters(fields, values);
  return {
    fields,
    values,
    problems,
    right: Object.keys(problems).length === 0,
    parameters,
    tasks: taskCount(template.array, parameters),
    isTouched: (name) => touched.includes(name),
    type: ({ name, value }) => {
      setTouched((before) => [...new Set([...before, name])]);
      setValues((before) => ({ ...before, [name]: value }));
    },
  };
}

/** The environment it is to run in, where the template leaves the choice. */
function useEnvironment({ template, environments, from, filled }: Begin, kept: FormDraft) {
  const choices = choicesOf(template, environments, from?.environment ?? null);
  const [chosen, choose] = useKept(
    kept,
    'environment',
    () => firstChoice(template, choices, [filled.environment, from?.environment]),
    (left): left is string => choices.some(({ name }) => name === left),
  );
  const known = choices.length === 0 || choices.some(({ name }) => name === filled.environment);
  return {
    choices,
    chosen,
    choose,
    environment: environments.find(({ name }) => name === chosen),
    /** what the address names, and can't be chosen */
    lost: known ? undefined : filled.environment,
    /** as it is sent */
    named: choices.length > 0 ? { environment: chosen } : {},
  };
}

/** A job of a template as it is being filled in, and its submitting. */
export function useTemplateForm(begin: Begin) {
  const { template, cluster, from, filled } = begin;
  const byAddress = from !== undefined || Object.keys(filled).length > 0;
  const kept = useFormDraft(`template ${template.name}`, byAddress);
  const typed = useParameters(begin, kept);
  const choice = useEnvironment(begin, kept);
  const { named } = choice;
  const [more, setMore] = useMore(kept, from);
  const { data: sizing } = useQuery(
    sizingQuery(
      from ? { job: from.id } : { template: template.name, environment: named.environment ?? null },
    ),
  );
  const resources = useResources({
    purpose: { template: template.name, ...named },
    first: template.default_resources,
    earlier: from?.resources,
    cluster,
    environment: choice.environment,
    sizing,
    fit: from === undefined,
    kept,
  });
  const possible = typed.right && resources.possible && template.available;
  const request = {
    template: template.name,
    parameters: typed.parameters,
    ...named,
    resources: resources.asked,
    ...toMore(more),
  };
  const submitting = useSubmit({
    request: possible ? request : null,
    parameters: typed.fields.map((field) => field.name),
    fields: ['name', 'logdir', 'environment'],
    draft: kept,
  });
  return { kept, typed, choice, more, setMore, sizing, resources, possible, submitting };
}
