import { t } from '@lingui/core/macro';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Cluster, Environment, JobDetail, ResolvedResources, ScriptImport } from '@/api/types';
import { isText } from '@/lib/drafts';
import { SERVER_CHECK_DELAY_MS } from '@/lib/typing';
import { useDraftField, useFormDraft } from '@/lib/useFormDraft';
import { toOptionalRequest, useOptionalFields } from './OptionalFields';
import { sizingQuery } from './queries';
import { useJobResources } from './useJobResources';
import { useSubmit } from './useSubmit';

const EXAMPLE = `#!/bin/bash
# ${t`TensorBoard shows what is written to $PORTAL_LOGDIR.`}
echo "${t`On $(hostname), as Slurm job $SLURM_JOB_ID`}"
`;

/** Return why a script cannot be submitted; `copied`: an earlier job's, which may be the example. */
function checkScript(script: string, copied: boolean): string | undefined {
  if (script.trim() === '') return t`Enter a script.`;
  if (script === EXAMPLE && !copied) return t`This is the example. Replace it with your script.`;
  return undefined;
}

export interface ScriptFormInput {
  environments: Environment[];
  cluster: Cluster;
  /** the default resources */
  defaults: ResolvedResources;
  /** an earlier job to fill in */
  earlierJob: JobDetail | undefined;
  /** a file to fill in */
  importedScript: ScriptImport | null;
  /** whether this history entry began with a file; stays true after a reload, when the file is gone */
  startedFromFile: boolean;
}

/** Fetch the usage of earlier runs. Scripts are identified by name: without one there are none. */
function useScriptSizing(job: string | undefined, name: string, environment: string) {
  const [typed] = useDebouncedValue(name.trim(), SERVER_CHECK_DELAY_MS);
  return useQuery({
    ...sizingQuery(job ? { job } : { script: typed, environment: environment || null }),
    enabled: job !== undefined || typed !== '',
  });
}

/** Keep the state of the form of a script's job, and submit it. */
export function useScriptForm(input: ScriptFormInput) {
  const { environments, cluster, defaults, earlierJob, importedScript, startedFromFile } = input;
  const choices = environments.filter((e) => e.available || e.name === earlierJob?.environment);
  const draft = useFormDraft('script', {
    perHistoryEntry: earlierJob !== undefined || startedFromFile,
  });
  const [environment, setEnvironment] = useDraftField(
    draft,
    'environment',
    () => earlierJob?.environment ?? '',
    (value): value is string => value === '' || choices.some((e) => e.name === value),
  );
  const [script, setScript] = useDraftField(
    draft,
    'script',
    () => earlierJob?.source ?? EXAMPLE,
    isText,
  );
  const [optionalValues, setOptionalValues] = useOptionalFields(draft, earlierJob);
  const { data: sizing } = useScriptSizing(earlierJob?.id, optionalValues.name, environment);
  const purpose = environment === '' ? {} : { environment };
  const resources = useJobResources({
    purpose,
    defaults,
    earlier: earlierJob?.resources,
    cluster,
    sizing,
    draft,
  });
  const [lastImport, setLastImport] = useState<ScriptImport | null>(null);
  const [importCount, setImportCount] = useState(0);
  const fill = (next: ScriptImport): void => {
    setScript(next.script);
    resources.fill(next.resources);
    if (next.name !== null) setOptionalValues({ ...optionalValues, name: next.name });
    setLastImport(next);
    setImportCount((before) => before + 1);
  };
  // Once: what the user has changed since then is in the draft.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the form is mounted for each file
  useEffect(() => {
    if (importedScript && Object.keys(draft.stored).length === 0) fill(importedScript);
  }, []);
  const scriptError = checkScript(script, earlierJob !== undefined);
  const submitting = useSubmit({
    request:
      resources.possible && !scriptError
        ? {
            script,
            parameters: {},
            ...purpose,
            resources: resources.requested,
            ...toOptionalRequest(optionalValues),
          }
        : null,
    explicit: resources.explicit,
    parameters: [],
    fields: ['script', 'environment', 'name', 'logdir'],
    draft,
    askAgain: resources.askAgain,
  });
  return {
    draft,
    /** the environments to choose from; an empty name stands for none */
    choices,
    environment,
    setEnvironment,
    purpose,
    script,
    setScript,
    /** why the script can't be submitted */
    scriptError,
    optionalValues,
    setOptionalValues,
    sizing,
    resources,
    lastImport,
    /** the number of imports: the editor's key, because it ignores later changes of its value */
    importCount,
    fill,
    submitting,
  };
}
