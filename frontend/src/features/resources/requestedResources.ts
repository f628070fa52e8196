/** Resources that a form requests: only explicit fields; the portal fills in the others. Pure. */
import { t } from '@lingui/core/macro';
import type { ResourceRequest } from '@/api/types';
import { isNumber, isRecordOf, isText } from '@/lib/drafts';

/** Resources that were set explicitly; null is a field that was emptied. */
export type ExplicitResources = {
  [K in keyof ResourceRequest]?: ResourceRequest[K] | null;
};

/** A form's values. Numbers are null while their field is empty. */
export interface ResourceFormValues {
  partition: string | null;
  gpus: number | null;
  gpu_type: string | null;
  cpus: number | null;
  memory_gb: number | null;
  time_limit_minutes: number | null;
}

export type ResourceErrors = Partial<Record<keyof ResourceFormValues | 'nodes', string>>;

/** Return errors for missing numbers; the portal validates the rest. `nodes` if there is a field. */
export function checkEmpty(values: ResourceFormValues & { nodes?: number | null }): ResourceErrors {
  const { nodes, gpus, cpus, memory_gb, time_limit_minutes } = values;
  const numbers = Object.entries({ nodes, gpus, cpus, memory_gb, time_limit_minutes });
  const empty = numbers.filter(([, value]) => value === null);
  return Object.fromEntries(empty.map(([field]) => [field, t`Enter a number.`]));
}

/** `base`: from a preset, a setup, a link or an earlier job; `typed`: what the user changed. */
export interface ResourceSources {
  base: ExplicitResources;
  typed: ExplicitResources;
}

const isValue = (value: unknown): value is string | number | null =>
  value === null || isText(value) || isNumber(value);

/** Return whether a value of a stored draft is valid. */
export const isExplicitResources = (value: unknown): value is ExplicitResources =>
  isRecordOf(isValue)(value);

/** Merge both sources. A partition chosen for work without GPUs is dropped once GPUs are requested,
 * and the reverse: unless the user sets one, the portal chooses another. */
export function toExplicitResources({ base, typed }: ResourceSources): ExplicitResources {
  const merged = { ...base, ...typed };
  if (base.gpus == null || typed.gpus == null || 'partition' in typed) return merged;
  if (base.gpus > 0 === typed.gpus > 0) return merged;
  const { partition: _, ...others } = merged;
  return others;
}

/** Return the fields of `after` that differ from `before`. */
export function changesOf<T extends object>(before: T, after: T): Partial<T> {
  const names = Object.keys(after) as (keyof T)[];
  const changed = names.filter((name) => after[name] !== before[name]);
  return Object.fromEntries(changed.map((name) => [name, after[name]])) as Partial<T>;
}
