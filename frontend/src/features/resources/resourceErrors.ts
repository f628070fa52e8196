/** Mapping of the portal's errors to the fields of resources. Pure. */
import { ApiError, type FieldError, messageAt } from '@/api/problem';
import type { ResourceErrors } from './requestedResources';

/** The fields of a session's resources; a job's also have the number of nodes. */
export const SESSION_FIELDS = [
  'partition',
  'gpus',
  'gpu_type',
  'cpus',
  'memory_gb',
  'time_limit_minutes',
] as const satisfies readonly (keyof ResourceErrors)[];
export const RESOURCE_FIELDS: readonly (keyof ResourceErrors)[] = ['nodes', ...SESSION_FIELDS];

export function toResourceErrors(errors: readonly FieldError[]): ResourceErrors {
  const messages = RESOURCE_FIELDS.map((field) => [field, messageAt(errors, field)] as const);
  return Object.fromEntries(messages.filter(([, message]) => message !== undefined));
}

export const resourceErrorsOf = (error: unknown): ResourceErrors =>
  error instanceof ApiError ? toResourceErrors(error.fields) : {};
