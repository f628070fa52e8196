import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import type { TemplateDetail } from '@/api/types';
import startClasses from '@/features/start/StartPage.module.css';
import { translate } from '@/i18n/translate';
import { Notice } from '@/ui/Notice';
import { RestoredNotice } from '@/ui/RestoredForm';
import { EnvironmentSelect } from './EnvironmentSelect';
import { JobResources } from './JobResources';
import { MoreFields } from './MoreFields';
import { ParameterFields } from './ParameterFields';
import { ScriptPreview } from './ScriptPreview';
import { SizingHint } from './SizingHint';
import { SubmitFoot } from './SubmitFoot';
import classes from './SubmitPage.module.css';
import { type Begin, useTemplateForm } from './useTemplateForm';

interface Props extends Begin {
  onStartOver: () => void;
}

/** The form that a template's own description makes. */
export function TemplateForm({ onStartOver, ...begin }: Props) {
  const { template, cluster, from, filled } = begin;
  const form = useTemplateForm(begin);
  const { kept, typed, choice, resources, submitting } = form;
  const { refusal, change } = submitting;
  return (
    <form
      ref={submitting.form}
      className={`${startClasses.form} ${classes.form}`}
      onSubmit={submitting.submit}
      noValidate
    >
      <RestoredNotice draft={kept} onStartOver={onStartOver} />
      <Notices template={template} byLink={filled.parameters !== undefined} lost={choice.lost} />
      {choice.choices.length > 0 && (
        <EnvironmentSelect
          choices={choice.choices}
          chosen={choice.chosen}
          problem={refusal.others.environment}
          onChoose={change(choice.choose)}
        />
      )}
      <ParameterFields typed={typed} submitting={submitting} />
      <SizingHint
        sizing={form.sizing}
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
        value={form.more}
        unnamed={template.name}
        problems={refusal.others}
        onChange={change(form.setMore)}
      />
      <ScriptPreview
        template={template.name}
        parameters={typed.parameters}
        environment={choice.named.environment}
        resources={resources.asked}
        possible={form.possible}
      />
      <SubmitFoot
        submitting={submitting}
        resources={resources}
        ask={{ template: template.name, ...choice.named }}
        onChoose={change(resources.set)}
        kept={kept}
        onStartOver={onStartOver}
        label={submitLabel(typed.tasks)}
      />
    </form>
  );
}

const submitLabel = (tasks: number | null): string =>
  tasks !== null && tasks > 1 ? t`Submit ${tasks} tasks` : t`Submit job`;

interface NoticesProps {
  template: TemplateDetail;
  /** a link has filled in parameters */
  byLink: boolean;
  /** the environment it names, where that can't be used */
  lost: string | undefined;
}

/** What to know before one fills it in. */
function Notices({ template, byLink, lost }: NoticesProps) {
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
      {lost !== undefined && (
        <Notice tone="warning">
          <Trans>
            The link names the environment {lost}, which can’t be used here. Choose another one.
          </Trans>
        </Notice>
      )}
    </>
  );
}
