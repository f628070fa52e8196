import { useState } from 'react';
import type { Cluster, Environment, Sizing, SomeResources } from '@/api/types';
import { orNull } from '@/lib/drafts';
import { type FormDraft, useKept } from '@/lib/useFormDraft';
import {
  checkJob,
  isJobDraft,
  type JobDraft,
  type JobProblems,
  toJobDraft,
  toJobResources,
} from './request';
import {
  fieldsAsIn,
  hasOtherShape,
  isSized,
  type SizedFields,
  suggestedFields,
  withFields,
} from './sizing';

export interface ResourcesState {
  draft: JobDraft;
  set: (draft: JobDraft) => void;
  /** found in this browser, not by the portal */
  problems: JobProblems;
  possible: boolean;
  asked: ReturnType<typeof toJobResources>;
  sized: SizedState;
}

/** What earlier runs suggest. */
export interface SizedState {
  /** empty: nothing */
  fields: SizedFields;
  /** whether the draft has just these */
  used: boolean;
  otherShape: boolean;
  use: () => void;
  /** puts back what would be asked for without them */
  back: () => void;
}

interface Begin {
  first: SomeResources;
  cluster: Cluster;
  environment: Environment | undefined;
  /** of earlier runs of the kind */
  sizing?: Sizing | undefined;
  /** whether the form begins with what they suggest */
  fit?: boolean;
  kept: FormDraft;
}

/** A job's resources as they are being filled in. */
export function useResources(begin: Begin): ResourcesState {
  const { first, cluster, environment, sizing, fit = false, kept } = begin;
  const [base] = useState(() => toJobDraft(first, cluster));
  const fields = suggestedFields(sizing, base, cluster, environment);
  // Until something is typed the form follows what is known, which may come a moment later.
  const [own, set] = useKept<JobDraft | null>(kept, 'resources', () => null, orNull(isJobDraft));
  const draft = own ?? (fit ? withFields(base, fields) : base);
  const problems = checkJob(draft, cluster, environment);
  return {
    draft,
    set,
    problems,
    possible: Object.keys(problems).length === 0,
    asked: toJobResources(draft),
    sized: {
      fields,
      used: isSized(draft, fields),
      otherShape: hasOtherShape(draft, base),
      use: () => set(withFields(draft, fields)),
      back: () => set(withFields(draft, fieldsAsIn(base, fields))),
    },
  };
}
