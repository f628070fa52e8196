import { t } from '@lingui/core/macro';
import { NativeSelect } from '@mantine/core';
import { Suspense } from 'react';
import { translateExact } from '@/i18n/translate';
import { CodeEditor } from '@/ui/code/CodeEditor';
import formClasses from '@/ui/FormPage.module.css';
import { lazyPart } from '@/ui/lazyPart';
import { RestoredNotice } from '@/ui/RestoredForm';
import { ImportLines } from './ImportLines';
import { JobResources } from './JobResources';
import { OptionalFields } from './OptionalFields';
import { SizingHint } from './SizingHint';
import { SubmitFoot } from './SubmitFoot';
import classes from './SubmitPage.module.css';
import { type ScriptFormInput, useScriptForm } from './useScriptForm';

const ImportReport = lazyPart(async () => (await import('./ImportReport')).ImportReport);

interface Props extends ScriptFormInput {
  onStartOver: () => void;
}

/** The form that submits the user's own script. */
export function ScriptForm({ onStartOver, ...input }: Props) {
  const { cluster, earlierJob } = input;
  const form = useScriptForm(input);
  const { draft, resources, submitting } = form;
  const { submitErrors, change } = submitting;
  return (
    <form
      ref={submitting.form}
      className={`${formClasses.form} ${classes.form}`}
      onSubmit={submitting.submit}
      noValidate
    >
      <RestoredNotice draft={draft} onStartOver={onStartOver} />
      {form.lastImport && (
        <Suspense>
          <ImportReport options={form.lastImport.options} />
        </Suspense>
      )}
      <ScriptFields form={form} />
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
        defaultName="script"
        fieldErrors={submitErrors.others}
        onChange={change(form.setOptionalValues)}
      />
      <SizingHint
        sizing={form.sizing}
        resources={resources}
        source={earlierJob ? 'job' : 'script'}
        onChange={change((apply: () => void) => apply())}
      />
      <SubmitFoot
        submitting={submitting}
        resources={resources}
        purpose={form.purpose}
        onChoose={change(resources.set)}
        label={t`Submit job`}
        draft={draft}
        onStartOver={onStartOver}
      />
    </form>
  );
}

/** The script and its environment. */
function ScriptFields({ form }: { form: ReturnType<typeof useScriptForm> }) {
  const { choices, environment, setEnvironment, script, setScript, scriptError, submitting } = form;
  const { submitErrors, tried, change } = submitting;
  return (
    <div className={classes.scriptFields}>
      {script !== form.lastImport?.script && (
        <ImportLines script={script} onImport={change(form.fill)} />
      )}
      <CodeEditor
        key={form.importCount}
        label={t`Script`}
        description={t`Starts with #!; otherwise bash runs it. Set the resources below; #SBATCH lines for them are rejected.`}
        value={script}
        onChange={change(setScript)}
        error={submitErrors.others.script ?? (tried ? scriptError : undefined)}
      />
      <NativeSelect
        label={t`Environment`}
        description={t`The whole script runs in it.`}
        maw={420}
        value={environment}
        onChange={(event) => change(setEnvironment)(event.currentTarget.value)}
        error={submitErrors.others.environment}
        data={[
          { value: '', label: t`None: only the node's own software` },
          ...choices.map(({ name, title }) => ({ value: name, label: translateExact(title) })),
        ]}
      />
    </div>
  );
}
