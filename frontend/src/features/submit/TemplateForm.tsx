import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Cluster, Environment, JobDetail, TemplateDetail } from '@/api/types';
import startClasses from '@/features/start/StartPage.module.css';
import { said } from '@/i18n/said';
import { isTexts } from '@/lib/drafts';
import { useFormDraft, useKept } from '@/lib/useFormDraft';
import { Notice } from '@/ui/Notice';
import { AsYouLeftIt } from '@/ui/StartOver';
import { EnvironmentSelect } from './EnvironmentSelect';
import { choicesOf, firstChoice } from './environments';
import { areTyped, fieldProblems, fieldsOf, firstValues, taskCount, toParameters } from './fields';
import { JobResources } from './JobResources';
import type { Filled } from './link';
import { isMore, MoreFields, toMore } from './MoreFields';
import { ParameterField } from './ParameterField';
import { sizingQuery } from './queries';
import { ScriptPreview } from './ScriptPreview';
import { SizingHint } from './SizingHint';
import { SubmitFoot } from './SubmitFoot';
import classes from './SubmitPage.module.css';
import { useResources } from './useResources';
import { useSubmit } from './useSubmit';

interface Props {
  template: TemplateDetail;
  environments: Environment[];
  cluster: Cluster;
  /** an earlier job to begin with */
  from: JobDetail | undefined;
  /** what the address fills in */
  filled: Filled;
  onStartOver: () => void;
}

/** The form that a template's own description makes. */
export function TemplateForm(props: Props) {
  const { template, environments, cluster, from, filled, onStartOver } = props;
  const byAddress = from !== undefined || Object.keys(filled).length > 0;
  const kept = useFormDraft(`template ${template.name}`, byAddress);
  const [fields] = useState(() => fieldsOf(template.parameters));
  const given = filled.parameters ?? from?.parameters;
  const [values, setValues] = useKept(
    kept,
    'values',
    () => firstValues(fields, given),
    areTyped(fields),
  );
  const choices = choicesOf(template, environments, from?.environment ?? null);
  const [chosen, setChosen] = useKept(
    kept,
    'environment',
    () => firstChoice(template, choices, [filled.environment, from?.environment]),
    (left): left is string => choices.some(({ name }) => name === left),
  );
  const environment = environments.find(({ name }) => name === chosen);
  const known = choices.length === 0 || choices.some(({ name }) => name === filled.environment);
  const lost = known ? undefined : filled.environment;
  const named = choices.length > 0 ? { environment: chosen } : {};
  const [more, setMore] = useKept(
    kept,
    'more',
    () => ({ name: from?.name ?? '', logdir: '' }),
    isMore,
  );
  const { data: sizing } = useQuery(
    sizingQuery(
      from ? { job: from.id } : { template: template.name, environment: named.environment ?? null },
    ),
  );
  const resources = useResources({
    first: from?.resources ?? template.default_resources,
    cluster,
    environment,
    sizing,
    fit: from === undefined,
    kept,
  });
  const problems = fieldProblems(fields, values);
  const parameters = toParameters(fields, values);
  const tasks = taskCount(template.array, parameters);
  const right = Object.keys(problems).length === 0;
  const wish = {
    template: template.name,
    parameters,
    ...named,
    resources: resources.asked,
    ...toMore(more),
  };
  const submitting = useSubmit({
    wish: right && resources.possible && template.available ? wish : null,
    parameters: fields.map((field) => field.name),
    fields: ['name', 'logdir', 'environment'],
    draft: kept,
  });
  const { refusal, changed } = submitting;
  const [touched, setTouched] = useKept(
    kept,
    'touched',
    () => Object.keys(filled.parameters ?? {}),
    isTexts,
  );
  const change =
    <T,>(set: (value: T) => void) =>
    (value: T): void => {
      changed();
      set(value);
    };
  return (
    <form
      ref={submitting.form}
      className={`${startClasses.form} ${classes.form}`}
      onSubmit={submitting.submit}
      noValidate
    >
      <AsYouLeftIt draft={kept} onStartOver={onStartOver} />
      {!template.available && (
        <Notice tone="warning">
          {said(template.unavailable_reason) ?? t`This template can’t be used here just now.`}
        </Notice>
      )}
      {filled.parameters && (
        <Notice tone="info">
          <Trans>Filled in by a link. Look it over, then submit it.</Trans>
        </Notice>
      )}
      {lost !== undefined && (
        <Notice tone="warning">
          <Trans>
            The link names the environment {lost}, which can’t be used here. Choose another one.
          </Trans>
        </Notice>
      )}
      {choices.length > 0 && (
        <EnvironmentSelect
          choices={choices}
          chosen={chosen}
          problem={refusal.others.environment}
          onChoose={change(setChosen)}
        />
      )}
      {fields.length > 0 && (
        <fieldset className={startClasses.group}>
          <legend>
            <Trans>Parameters</Trans>
          </legend>
          <div className={`${startClasses.fields} ${classes.parameters}`}>
            {fields.map((field) => (
              <ParameterField
                key={field.name}
                field={field}
                value={values[field.name] ?? ''}
                problem={
                  refusal.parameters[field.name] ??
                  (submitting.tried || touched.includes(field.name)
                    ? problems[field.name]
                    : undefined)
                }
                onChange={change((value) => {
                  setTouched((before) => [...new Set([...before, field.name])]);
                  setValues((before) => ({ ...before, [field.name]: value }));
                })}
              />
            ))}
          </div>
          {tasks !== null && right && (
            <p className={classes.tasks} role="status">
              {plural(tasks, {
                one: 'One job of one task.',
                other: 'One job of # tasks, one for each combination.',
              })}
            </p>
          )}
        </fieldset>
      )}
      <SizingHint
        sizing={sizing}
        resources={resources}
        whose={from ? 'job' : 'template'}
        onUse={change((act: () => void) => act())}
      />
      <JobResources
        cluster={cluster}
        draft={resources.draft}
        problems={{ ...resources.problems, ...refusal.resources }}
        onChange={change(resources.set)}
      />
      <MoreFields
        value={more}
        unnamed={template.name}
        problems={refusal.others}
        onChange={change(setMore)}
      />
      <ScriptPreview
        template={template.name}
        parameters={parameters}
        environment={named.environment}
        resources={resources.asked}
        possible={right && resources.possible && template.available}
      />
      <SubmitFoot
        submitting={submitting}
        resources={resources}
        ask={{ template: template.name, ...named }}
        onChoose={change(resources.set)}
        kept={kept}
        onStartOver={onStartOver}
        label={tasks !== null && tasks > 1 ? t`Submit ${tasks} tasks` : t`Submit job`}
      />
    </form>
  );
}
