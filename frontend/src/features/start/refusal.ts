/** Which part of the portal's refusal belongs to which field of the form. Pure. */
import { ApiError, fieldMessage, sentence } from '@/api/problem';
import type { Draft, Problems } from './check';

const RESOURCE_FIELDS: readonly (keyof Draft)[] = [
  'partition',
  'gpus',
  'gpu_type',
  'cpus',
  'memory_gb',
  'time_limit_minutes',
];

export function resourceRefusals(error: unknown): Problems {
  const found = RESOURCE_FIELDS.map((field) => [field, fieldMessage(error, field)] as const);
  return Object.fromEntries(found.filter(([, message]) => message !== undefined));
}

/** What to say beside the button: the sentence, unless a field of the form already says it all. */
export function generalRefusal(error: unknown): string | null {
  if (error === null) return null;
  const shown = [...RESOURCE_FIELDS, 'name', 'starter'].filter(
    (f) => fieldMessage(error, f) !== undefined,
  );
  const allShown =
    error instanceof ApiError && shown.length > 0 && shown.length >= error.fields.length;
  return allShown ? null : sentence(error);
}
