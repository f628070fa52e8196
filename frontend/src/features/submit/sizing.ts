/** Resources suggested by the usage of earlier runs. Pure. */
import { messageAt } from '@/api/problem';
import type { Sizing } from '@/api/types';
import type {
  ExplicitResources,
  ResourceFormValues,
} from '@/features/resources/requestedResources';
import type { ResolvedRequest } from '@/features/resources/resolveResources';
import type { JobResourceFormValues } from './request';

export const SIZED = ['memory_gb', 'cpus', 'time_limit_minutes'] as const;
export type Sized = (typeof SIZED)[number];
export type SizedFields = Partial<Pick<ResourceFormValues, Sized>>;

/** The source of the resources that the suggestions replace. */
export type ComparedWith = 'template' | 'job' | 'script';

/** Return the requests to complete and validate: `base`, and one with the suggestions, if any. */
export function withSuggestions(
  base: ExplicitResources,
  sizing: Sizing | undefined,
): ExplicitResources[] {
  const suggested = SIZED.map((field) => [field, sizing?.[field]?.suggested ?? null] as const);
  const present = suggested.filter(([, value]) => value !== null);
  return present.length === 0 ? [base] : [base, { ...base, ...Object.fromEntries(present) }];
}

/** Return the suggestions that differ from `before` and that the portal accepts in `checked`. */
export function suggestedFields(
  sizing: Sizing | undefined,
  before: JobResourceFormValues,
  checked: ResolvedRequest | undefined,
): SizedFields {
  const accepted: SizedFields = {};
  for (const field of SIZED) {
    const suggested = sizing?.[field]?.suggested ?? null;
    if (suggested === null || suggested === before.node[field]) continue;
    // An answer to other suggestions does not validate this one.
    if (checked?.requested[field] !== suggested) continue;
    if (messageAt(checked.errors, field) === undefined) accepted[field] = suggested;
  }
  return accepted;
}

export const hasSuggestions = ({ node }: JobResourceFormValues, fields: SizedFields): boolean =>
  SIZED.every((field) => !(field in fields) || node[field] === fields[field]);

/** Return whether the number of GPUs or nodes differs from `base`. Earlier runs of a job or a template had
 * those of `base`, so their usage then says less about this job. */
export const hasOtherShape = (
  values: JobResourceFormValues,
  base: JobResourceFormValues,
): boolean => values.node.gpus !== base.node.gpus || values.nodes !== base.nodes;
