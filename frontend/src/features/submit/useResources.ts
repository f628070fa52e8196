import { useState } from 'react';
import type { Cluster, Environment, SomeResources } from '@/api/types';
import { checkJob, type JobDraft, type JobProblems, toJobDraft, toJobResources } from './request';

export interface ResourcesState {
  draft: JobDraft;
  set: (draft: JobDraft) => void;
  /** found in this browser, not by the portal */
  problems: JobProblems;
  possible: boolean;
  asked: ReturnType<typeof toJobResources>;
}

/** A job's resources as they are being filled in. */
export function useResources(
  first: SomeResources,
  cluster: Cluster,
  environment: Environment | undefined,
): ResourcesState {
  const [draft, set] = useState(() => toJobDraft(first, cluster));
  const problems = checkJob(draft, cluster, environment);
  return {
    draft,
    set,
    problems,
    possible: Object.keys(problems).length === 0,
    asked: toJobResources(draft),
  };
}
