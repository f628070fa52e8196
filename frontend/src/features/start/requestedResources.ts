/** What a form asks the portal for: only what was named; the portal completes the rest. Pure. */
import type { SomeResources } from '@/api/types';
import { isNumber, isRecordOf, isText } from '@/lib/drafts';

/** Named resources; null is a field that was emptied. */
export type NamedResources = {
  [K in keyof SomeResources]?: SomeResources[K] | null;
};

/** `base` comes from a preset, a setup, a link or an earlier job, `typed` from the user. */
export interface RequestedResources {
  base: NamedResources;
  typed: NamedResources;
}

export const NOTHING: RequestedResources = { base: {}, typed: {} };

const isValue = (value: unknown): value is string | number | null =>
  value === null || isText(value) || isNumber(value);

/** Whether what a tab has kept is resources. */
export const isNamedResources = (left: unknown): left is NamedResources =>
  isRecordOf(isValue)(left);

/** A partition that was chosen for work without GPUs is not asked for with GPUs, and the reverse:
 * unless the user names one, the portal chooses another. */
export function toNamedResources({ base, typed }: RequestedResources): NamedResources {
  const named = { ...base, ...typed };
  if (base.gpus == null || typed.gpus == null || 'partition' in typed) return named;
  if (base.gpus > 0 === typed.gpus > 0) return named;
  const { partition: _, ...others } = named;
  return others;
}

/** The fields of `after` that are not as in `before`. */
export function changesOf<T extends object>(before: T, after: T): Partial<T> {
  const names = Object.keys(after) as (keyof T)[];
  const changed = names.filter((name) => after[name] !== before[name]);
  return Object.fromEntries(changed.map((name) => [name, after[name]])) as Partial<T>;
}

const WHOLE: Record<string, number> = { nodes: 1, gpus: 0, cpus: 1, time_limit_minutes: 1 };

function isSendable([name, value]: [string, unknown]): boolean {
  if (value == null) return false;
  const least = WHOLE[name];
  if (least !== undefined) return Number.isInteger(value) && Number(value) >= least;
  return name !== 'memory_gb' || Number(value) > 0;
}

/** Without what is not a request yet: a field that is empty, or wrong by itself. */
export const toSend = (named: NamedResources): SomeResources =>
  Object.fromEntries(Object.entries(named).filter(isSendable));
