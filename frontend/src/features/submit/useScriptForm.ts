import { t } from '@lingui/core/macro';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { Cluster, Environment, JobDetail, Resources } from '@/api/types';
import { isText } from '@/lib/drafts';
import { useFormDraft, useKept } from '@/lib/useFormDraft';
import { toMore, useMore } from './MoreFields';
import { sizingQuery } from './queries';
import { useResources } from './useResources';
import { useSubmit } from './useSubmit';

const EXAMPLE = `#!/bin/bash
# ${t`TensorBoard shows what is written to $PORTAL_LOGDIR.`}
echo "${t`On $(hostname), as Slurm job $SLURM_JOB_ID`}"
`;

export interface Begin {
  environments: Environment[];
  cluster: Cluster;
  /** what the portal asks for where nothing is named */
  defaults: Resources;
  /** an earlier job to begin with */
  from: JobDetail | undefined;
}

const TYPED_MS = 500;

/** Scripts are identified by their names; without a name there are no earlier runs. */
function useScriptSizing(job: string | undefined, name: string, environment: string) {
  const [typed] = useDebouncedValue(name.trim(), TYPED_MS);
  return useQuery({
    ...sizingQuery(job ? { job } : { script: typed, environment: environment || null }),
    enabled: job !== undefined || typed !== '',
  });
}

/** A job of a script as it is being filled in, and its submitting. */
export function useScriptForm({ environments, cluster, defaults, from }: Begin) {
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
  const named = chosen === '' ? {} : { environment: chosen };
  const resources = useResources({
    purpose: named,
    first: defaults,
    earlier: from?.resources,
    cluster,
    environment,
    sizing,
    kept,
  });
  const empty = script.trim() === '' ? t`Enter a script.` : undefined;
  const submitting = useSubmit({
    request:
      resources.possible && !empty
        ? { script, parameters: {}, ...named, resources: resources.asked, ...toMore(more) }
        : null,
    parameters: [],
    fields: ['script', 'environment', 'name', 'logdir'],
    draft: kept,
  });
  return {
    kept,
    available,
    chosen,
    setChosen,
    named,
    script,
    setScript,
    empty,
    more,
    setMore,
    sizing,
    resources,
    submitting,
  };
}
