import { t } from '@lingui/core/macro';
import { NativeSelect } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { Cluster, Environment, JobDetail } from '@/api/types';
import startClasses from '@/features/start/StartPage.module.css';
import { written } from '@/i18n/said';
import { isText } from '@/lib/drafts';
import { useFormDraft, useKept } from '@/lib/useFormDraft';
import { CodeEditor } from '@/ui/code/CodeEditor';
import { AsYouLeftIt } from '@/ui/StartOver';
import { JobResources } from './JobResources';
import { MoreFields, toMore, useMore } from './MoreFields';
import { sizingQuery } from './queries';
import { SizingHint } from './SizingHint';
import { SubmitFoot } from './SubmitFoot';
import classes from './SubmitPage.module.css';
import { useResources } from './useResources';
import { useSubmit } from './useSubmit';

const EXAMPLE = `#!/bin/bash
# ${t`What is written to $PORTAL_LOGDIR shows in TensorBoard.`}
echo "${t`On $(hostname), as Slurm job $SLURM_JOB_ID`}"
`;

interface Props {
  environments: Environment[];
  cluster: Cluster;
  from: JobDetail | undefined;
  onStartOver: () => void;
}

const TYPED_MS = 500;

/** Scripts are told apart by their names: of one that has none nothing is known. */
function useScriptSizing(job: string | undefined, name: string, environment: string) {
  const [typed] = useDebouncedValue(name.trim(), TYPED_MS);
  return useQuery({
    ...sizingQuery(job ? { job } : { script: typed, environment: environment || null }),
    enabled: job !== undefined || typed !== '',
  });
}

/** A script of one's own, as it is. */
export function ScriptForm({ environments, cluster, from, onStartOver }: Props) {
  const available = environments.filter((e) => e.available || e.name === from?.environment);
  const kept = useFormDraft('script', from !== undefined);
  const [chosen, setChosen] = useKept(
    kept,
    'environment',
    () => from?.environment ?? '',
    (left): left is string => left === '' || available.some((e) => e.name === left),
  );
  const [script, setScript] = useKept(kept, 'script', () => from?.source ?? EXAMPLE, isText);
  const [more, setMore] = useMore(kept, from);
  const environment = environments.find((e) => e.name === chosen);
  const { data: sizing } = useScriptSizing(from?.id, more.name, chosen);
  const resources = useResources({
    first: from?.resources ?? environment?.default_resources ?? {},
    cluster,
    environment,
    sizing,
    kept,
  });
  const named = chosen === '' ? {} : { environment: chosen };
  const empty = script.trim() === '' ? t`Write a script.` : undefined;
  const submitting = useSubmit({
    wish:
      resources.possible && !empty
        ? { script, parameters: {}, ...named, resources: resources.asked, ...toMore(more) }
        : null,
    parameters: [],
    fields: ['script', 'environment', 'name', 'logdir'],
    draft: kept,
  });
  const { refusal, change } = submitting;
  return (
    <form
      ref={submitting.form}
      className={`${startClasses.form} ${classes.form}`}
      onSubmit={submitting.submit}
      noValidate
    >
      <AsYouLeftIt draft={kept} onStartOver={onStartOver} />
      <div className={classes.scriptFields}>
        <CodeEditor
          label={t`Script`}
          description={t`Begins with #! or is run by bash. Resources are asked for below; #SBATCH lines for them are refused.`}
          value={script}
          onChange={change(setScript)}
          error={refusal.others.script ?? (submitting.tried ? empty : undefined)}
        />
        <NativeSelect
          label={t`Environment`}
          description={t`The whole script runs in it.`}
          maw={420}
          value={chosen}
          onChange={(event) => change(setChosen)(event.currentTarget.value)}
          error={refusal.others.environment}
          data={[
            { value: '', label: t`None: with what the node has` },
            ...available.map(({ name, title }) => ({ value: name, label: written(title) })),
          ]}
        />
      </div>
      <JobResources
        cluster={cluster}
        draft={resources.draft}
        problems={{ ...resources.problems, ...refusal.resources }}
        onChange={change(resources.set)}
      />
      <MoreFields
        value={more}
        unnamed="script"
        problems={refusal.others}
        onChange={change(setMore)}
      />
      <SizingHint
        sizing={sizing}
        resources={resources}
        whose={from ? 'job' : 'script'}
        onUse={change((act: () => void) => act())}
      />
      <SubmitFoot
        submitting={submitting}
        resources={resources}
        ask={named}
        onChoose={change(resources.set)}
        label={t`Submit job`}
        kept={kept}
        onStartOver={onStartOver}
      />
    </form>
  );
}
