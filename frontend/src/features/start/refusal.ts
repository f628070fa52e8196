/** Mapping of the portal's errors to the form's fields. Pure. */
import { ApiError, errorMessage, type FieldProblem, fieldMessage, messageAt } from '@/api/problem';
import type { Problems } from './requestedResources';

/** The fields of one node; a job also has the number of nodes. */
const NODE_FIELDS = [
  'partition',
  'gpus',
  'gpu_type',
  'cpus',
  'memory_gb',
  'time_limit_minutes',
] as const satisfies readonly (keyof Problems)[];
export const RESOURCE_FIELDS: readonly (keyof Problems)[] = ['nodes', ...NODE_FIELDS];

export function resourceProblems(errors: readonly FieldProblem[]): Problems {
  const messages = RESOURCE_FIELDS.map((field) => [field, messageAt(errors, field)] as const);
  return Object.fromEntries(messages.filter(([, message]) => message !== undefined));
}

export const resourceRefusals = (error: unknown): Problems =>
  error instanceof ApiError ? resourceProblems(error.fields) : {};

/** Return the message beside the button; null if the form's fields show all errors. */
export function generalRefusal(error: unknown): string | null {
  if (error === null) return null;
  const shown = [...NODE_FIELDS, 'name', 'starter'].filter(
    (f) => fieldMessage(error, f) !== undefined,
  );
  const allShown =
    error instanceof ApiError && shown.length > 0 && shown.length >= error.fields.length;
  return allShown ? null : errorMessage(error);
}
