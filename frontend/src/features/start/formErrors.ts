/** Mapping of the portal's errors to the form's fields. Pure. */
import { ApiError, errorMessage, type FieldError, fieldMessage, messageAt } from '@/api/problem';
import type { ResourceErrors } from './requestedResources';

/** The fields of one node; a job also has the number of nodes. */
const NODE_FIELDS = [
  'partition',
  'gpus',
  'gpu_type',
  'cpus',
  'memory_gb',
  'time_limit_minutes',
] as const satisfies readonly (keyof ResourceErrors)[];
export const RESOURCE_FIELDS: readonly (keyof ResourceErrors)[] = ['nodes', ...NODE_FIELDS];

export function toResourceErrors(errors: readonly FieldError[]): ResourceErrors {
  const messages = RESOURCE_FIELDS.map((field) => [field, messageAt(errors, field)] as const);
  return Object.fromEntries(messages.filter(([, message]) => message !== undefined));
}

export const resourceErrorsOf = (error: unknown): ResourceErrors =>
  error instanceof ApiError ? toResourceErrors(error.fields) : {};

/** Return the message beside the button; null if the form's fields show all errors. */
export function generalMessage(error: unknown): string | null {
  if (error === null) return null;
  const shown = [...NODE_FIELDS, 'name', 'starter'].filter(
    (f) => fieldMessage(error, f) !== undefined,
  );
  const allShown =
    error instanceof ApiError && shown.length > 0 && shown.length >= error.fields.length;
  return allShown ? null : errorMessage(error);
}
