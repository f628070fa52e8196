import { useQuery } from '@tanstack/react-query';
import type { Cluster, ResolvedResources, ResourceRequest, Sizing } from '@/api/types';
import {
  changesOf,
  checkEmpty,
  type ExplicitResources,
  isExplicitResources,
  type ResourceErrors,
  toExplicitResources,
} from '@/features/resources/requestedResources';
import { type Purpose, resolvedResourcesQuery } from '@/features/resources/resolveResources';
import { toResourceErrors } from '@/features/resources/resourceErrors';
import { orNull } from '@/lib/drafts';
import { useAnswer } from '@/lib/useAnswer';
import { type FormDraft, useDraftField } from '@/lib/useFormDraft';
import { flattenValues, type JobResourceFormValues, toJobResources, toJobValues } from './request';
import {
  hasOtherShape,
  hasSuggestions,
  type SizedFields,
  suggestedFields,
  withSuggestions,
} from './sizing';

export interface JobResourcesState {
  values: JobResourceFormValues;
  set: (values: JobResourceFormValues) => void;
  /** sets these fields only */
  fill: (fields: ExplicitResources) => void;
  /** errors of the portal's last answer and of missing numbers */
  fieldErrors: ResourceErrors;
  /** whether that answer is to exactly these values */
  isCurrent: boolean;
  /** nothing is missing, and the portal has not refused exactly these values */
  possible: boolean;
  /** the resources to submit */
  requested: ResourceRequest;
  /** the same, without fields that the portal has filled in */
  explicit: ResourceRequest;
  /** asks the portal again */
  askAgain: () => void;
  suggested: SuggestedResources;
}

/** Resources suggested by earlier runs. */
export interface SuggestedResources {
  /** the suggestions; empty if there are none */
  fields: SizedFields;
  /** whether the form has the suggested values */
  applied: boolean;
  /** whether its GPUs or nodes differ from the initial ones */
  otherShape: boolean;
  apply: () => void;
  /** restores the values without suggestions */
  restore: () => void;
}

interface JobResourcesInput {
  /** the template or environment that the resources are for */
  purpose: Purpose;
  /** the default resources */
  defaults: ResolvedResources;
  /** the resources of an earlier job */
  earlier: ResolvedResources | undefined;
  cluster: Cluster;
  /** the usage of earlier runs */
  sizing?: Sizing | undefined;
  /** whether the suggestions are applied initially */
  applySizing?: boolean;
  draft: FormDraft;
}

const NONE: ExplicitResources = {};

/** Keep the resources in a job's form. */
export function useJobResources(input: JobResourcesInput): JobResourcesState {
  const { purpose, defaults, earlier, cluster, sizing, applySizing = false, draft } = input;
  const base = earlier ?? NONE;
  const completion = useQuery(resolvedResourcesQuery(purpose, withSuggestions(base, sizing)));
  const [completedBase, completedSuggestions] = completion.data?.items ?? [];
  const baseResources = completedBase?.resources ?? earlier ?? defaults;
  const before = toJobValues(baseResources, base, cluster);
  const fields = suggestedFields(sizing, before, completedSuggestions);
  // Until a field is changed, the form follows suggestions, which may arrive after it is shown.
  const [changed, setChanged] = useDraftField<ExplicitResources | null>(
    draft,
    'resources',
    () => null,
    orNull(isExplicitResources),
  );
  const typed = changed ?? (applySizing ? fields : NONE);
  const explicit = toExplicitResources({ base, typed });
  const { answer, isCurrent, askAgain } = useAnswer(explicit, (request) =>
    resolvedResourcesQuery(purpose, [request]),
  );
  const [completed] = answer?.items ?? [];
  const values = toJobValues(completed?.resources ?? baseResources, explicit, cluster);
  const empty = checkEmpty({ ...values.node, nodes: values.nodes });
  const fieldErrors = toResourceErrors(completed?.errors ?? []);
  const isInvalid = isCurrent && Object.keys(fieldErrors).length > 0;
  return {
    values,
    set: (next) =>
      setChanged({ ...typed, ...changesOf(flattenValues(values), flattenValues(next)) }),
    fill: (changes) => setChanged({ ...typed, ...changes }),
    fieldErrors: { ...fieldErrors, ...empty },
    isCurrent,
    possible: Object.keys(empty).length === 0 && !isInvalid,
    // At submission, the portal fills in what it has not filled in yet.
    requested: isCurrent ? toJobResources(values) : explicit,
    explicit,
    askAgain,
    suggested: {
      fields,
      applied: hasSuggestions(values, fields),
      otherShape: hasOtherShape(values, before),
      apply: () => setChanged({ ...typed, ...fields }),
      restore: () =>
        setChanged(Object.fromEntries(Object.entries(typed).filter(([name]) => !(name in fields)))),
    },
  };
}
