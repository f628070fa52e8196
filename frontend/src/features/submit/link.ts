/**
 * A link to a filled-in form: /jobs/new?template=NAME&environment=NAME&parameters={"name": value}.
 * Links are untrusted: they only fill in fields, which are validated as if they were typed, and
 * following one submits nothing. Pure.
 */
import type { Parameters } from './fields';

/** The values that a link fills in. */
export interface SubmitLink {
  environment?: string;
  parameters?: Parameters;
}

const MAX_NAME = 100;
const MAX_FIELDS = 40;

const isPlain = (value: unknown): boolean =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value);

/** Return the valid values of an address. */
export function readSubmitLink({ environment, parameters }: Record<string, unknown>): SubmitLink {
  const isName = typeof environment === 'string' && environment.length <= MAX_NAME;
  const object = typeof parameters === 'object' && parameters !== null ? parameters : {};
  const values = Object.entries(Array.isArray(object) ? {} : object)
    .filter(([, value]) => isPlain(value) || (Array.isArray(value) && value.every(isPlain)))
    .slice(0, MAX_FIELDS);
  return {
    ...(isName ? { environment } : {}),
    ...(values.length > 0 ? { parameters: Object.fromEntries(values) } : {}),
  };
}
