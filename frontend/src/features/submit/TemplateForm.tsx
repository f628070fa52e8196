import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import type { TemplateDetail } from '@/api/types';
import { translate } from '@/i18n/translate';
import formClasses from '@/ui/FormPage.module.css';
import { Notice } from '@/ui/Notice';
import { RestoredNotice } from '@/ui/RestoredForm';
import { EnvironmentSelect } from './EnvironmentSelect';
import { JobResources } from './JobResources';
import { OptionalFields } from './OptionalFields';
import { ParameterFields } from './ParameterFields';
import { ScriptPreview } from './ScriptPreview';
import { SizingHint } from './SizingHint';
import { SubmitFoot } from './SubmitFoot';
import classes from './SubmitPage.module.css';
import { type TemplateFormInput, useTemplateForm } from './useTemplateForm';

interface Props extends TemplateFormInput {
  onStartOver: () => void;
}

/** The form of a template, generated from its parameters. */
export function TemplateForm({ onStartOver, ...input }: Props) {
  const { template, cluster, earlierJob, link } = input;
  const form = useTemplateForm(input);
  const { draft, parametersState, environmentChoice, resources, submitting } = form;
  const { submitErrors, change } = submitting;
  const tasks = form.rendering.answer?.tasks ?? null;
  return (
    <form
      ref={submitting.form}
      className={`${formClasses.form} ${classes.form}`}
      onSubmit={submitting.submit}
      noValidate
    >
      <RestoredNotice draft={draft} onStartOver={onStartOver} />
      <Notices
        template={template}
        byLink={link.parameters !== undefined}
        missing={environmentChoice.missing}
      />
      {environmentChoice.choices.length > 0 && (
        <EnvironmentSelect
          choices={environmentChoice.choices}
          chosen={environmentChoice.chosen}
          error={submitErrors.others.environment}
          onChoose={change(environmentChoice.choose)}
        />
      )}
      <ParameterFields
        parametersState={parametersState}
        fieldErrors={submitting.errorsToShow(form.fieldErrors, form.rendering.isCurrent)}
        tasks={tasks}
        submitting={submitting}
      />
      <SizingHint
        sizing={form.sizing}
        resources={resources}
        source={earlierJob ? 'job' : 'template'}
        onChange={change((apply: () => void) => apply())}
      />
      <JobResources
        cluster={cluster}
        purpose={form.purpose}
        values={resources.values}
        fieldErrors={{
          ...submitting.errorsToShow(resources.fieldErrors, resources.isCurrent),
          ...submitErrors.resources,
        }}
        onChange={change(resources.set)}
      />
      <OptionalFields
        value={form.optionalValues}
        defaultName={template.name}
        fieldErrors={submitErrors.others}
        onChange={change(form.setOptionalValues)}
      />
      <ScriptPreview rendering={form.rendering} valid={form.valid} />
      <SubmitFoot
        submitting={submitting}
        resources={resources}
        purpose={form.purpose}
        onChoose={change(resources.set)}
        draft={draft}
        onStartOver={onStartOver}
        label={submitLabel(tasks)}
      />
    </form>
  );
}

const submitLabel = (tasks: number | null): string =>
  tasks !== null && tasks > 1 ? t`Submit ${tasks} tasks` : t`Submit job`;

interface NoticesProps {
  template: TemplateDetail;
  /** whether a link has filled in parameters */
  byLink: boolean;
  /** the link's environment, if it is unavailable */
  missing: string | undefined;
}

/** Notices above the fields. */
function Notices({ template, byLink, missing }: NoticesProps) {
  return (
    <>
      {!template.available && (
        <Notice tone="warning">
          {translate(template.unavailable_reason) ?? t`This template is not available now.`}
        </Notice>
      )}
      {byLink && (
        <Notice tone="info">
          <Trans>Filled in from a link. Check it, then submit it.</Trans>
        </Notice>
      )}
      {missing !== undefined && (
        <Notice tone="warning">
          <Trans>
            The link names the environment {missing}, which can't be used here. Choose another one.
          </Trans>
        </Notice>
      )}
    </>
  );
}
