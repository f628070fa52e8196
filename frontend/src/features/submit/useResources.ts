import type { Cluster, Environment, Resources, Sizing, SomeResources } from '@/api/types';
import { shapeProblems } from '@/features/start/check';
import { type Purpose, useCompletion } from '@/features/start/completion';
import {
  changesOf,
  isNamedResources,
  type NamedResources,
  toNamedResources,
  toSend,
} from '@/features/start/requestedResources';
import { orNull } from '@/lib/drafts';
import { type FormDraft, useKept } from '@/lib/useFormDraft';
import {
  checkJob,
  isWellFormed,
  type JobDraft,
  type JobProblems,
  toJobDraft,
  toJobResources,
  toNamed,
} from './request';
import { hasOtherShape, isSized, type SizedFields, suggestedFields } from './sizing';

export interface ResourcesState {
  draft: JobDraft;
  set: (draft: JobDraft) => void;
  /** found in this browser, not by the portal */
  problems: JobProblems;
  possible: boolean;
  asked: SomeResources;
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
  purpose: Purpose;
  /** what the portal asks for where nothing is named */
  first: Resources;
  /** what an earlier job asked for */
  earlier: Resources | undefined;
  cluster: Cluster;
  environment: Environment | undefined;
  /** of earlier runs of the kind */
  sizing?: Sizing | undefined;
  /** whether the form begins with what they suggest */
  fit?: boolean;
  kept: FormDraft;
}

const NONE: NamedResources = {};

/** A job's resources as they are being filled in. */
export function useResources(begin: Begin): ResourcesState {
  const { purpose, first, earlier, cluster, environment, sizing, fit = false, kept } = begin;
  const base = earlier ?? NONE;
  const untouched = useCompletion(purpose, base, earlier ?? first).completed;
  const before = toJobDraft(untouched.resources, base, cluster);
  const fields = suggestedFields(sizing, before, cluster, environment);
  // Until something is typed the form follows what is known, which may come a moment later.
  const [own, setOwn] = useKept<NamedResources | null>(
    kept,
    'resources',
    () => null,
    orNull(isNamedResources),
  );
  const typed = own ?? (fit ? fields : NONE);
  const named = toNamedResources({ base, typed });
  const { completed, pending } = useCompletion(purpose, named, untouched.resources);
  const draft = toJobDraft(completed.resources, named, cluster);
  // Checked once the portal has completed it; until then the portal decides when it is submitted.
  const settled = toJobDraft(completed.resources, completed.asked, cluster);
  const problems = checkJob(settled, cluster, environment);
  return {
    draft,
    set: (next) => setOwn({ ...typed, ...changesOf(toNamed(draft), toNamed(next)) }),
    // An empty number is shown at once: submitting moves the focus to it.
    problems: pending ? { ...problems, ...shapeProblems(draft.node) } : problems,
    possible: pending ? isWellFormed(draft) : Object.keys(problems).length === 0,
    asked: pending ? toSend(named) : toJobResources(draft),
    sized: {
      fields,
      used: isSized(draft, fields),
      otherShape: hasOtherShape(draft, before),
      use: () => setOwn({ ...typed, ...fields }),
      back: () =>
        setOwn(Object.fromEntries(Object.entries(typed).filter(([name]) => !(name in fields)))),
    },
  };
}
