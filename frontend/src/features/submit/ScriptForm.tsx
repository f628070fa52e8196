import { t } from '@lingui/core/macro';
import { NativeSelect } from '@mantine/core';
import startClasses from '@/features/start/StartPage.module.css';
import { translateExact } from '@/i18n/translate';
import { CodeEditor } from '@/ui/code/CodeEditor';
import { RestoredNotice } from '@/ui/RestoredForm';
import { JobResources } from './JobResources';
import { MoreFields } from './MoreFields';
import { SizingHint } from './SizingHint';
import { SubmitFoot } from './SubmitFoot';
import classes from './SubmitPage.module.css';
import { type Begin, useScriptForm } from './useScriptForm';

interface Props extends Begin {
  onStartOver: () => void;
}

/** A script of one's own, as it is. */
export function ScriptForm({ onStartOver, ...begin }: Props) {
  const { cluster, from } = begin;
  const form = useScriptForm(begin);
  const { kept, resources, submitting } = form;
  const { refusal, change } = submitting;
  return (
    <form
      ref={submitting.form}
      className={`${startClasses.form} ${classes.form}`}
      onSubmit={submitting.submit}
      noValidate
    >
      <RestoredNotice draft={kept} onStartOver={onStartOver} />
      <ScriptFields form={form} />
      <JobResources
        cluster={cluster}
        draft={resources.draft}
        problems={{ ...resources.problems, ...refusal.resources }}
        onChange={change(resources.set)}
      />
      <MoreFields
        value={form.more}
        unnamed="script"
        problems={refusal.others}
        onChange={change(form.setMore)}
      />
      <SizingHint
        sizing={form.sizing}
        resources={resources}
        whose={from ? 'job' : 'script'}
        onUse={change((act: () => void) => act())}
      />
      <SubmitFoot
        submitting={submitting}
        resources={resources}
        ask={form.named}
        onChoose={change(resources.set)}
        label={t`Submit job`}
        kept={kept}
        onStartOver={onStartOver}
      />
    </form>
  );
}

/** The script, and where it runs. */
function ScriptFields({ form }: { form: ReturnType<typeof useScriptForm> }) {
  const { available, chosen, setChosen, script, setScript, empty, submitting } = form;
  const { refusal, tried, change } = submitting;
  return (
    <div className={classes.scriptFields}>
      <CodeEditor
        label={t`Script`}
        description={t`Starts with #!; otherwise bash runs it. Set the resources below; #SBATCH lines for them are rejected.`}
        value={script}
        onChange={change(setScript)}
        error={refusal.others.script ?? (tried ? empty : undefined)}
      />
      <NativeSelect
        label={t`Environment`}
        description={t`The whole script runs in it.`}
        maw={420}
        value={chosen}
        onChange={(event) => change(setChosen)(event.currentTarget.value)}
        error={refusal.others.environment}
        data={[
          { value: '', label: t`None: only the node’s own software` },
          ...available.map(({ name, title }) => ({ value: name, label: translateExact(title) })),
        ]}
      />
    </div>
  );
}
