/**
 * A link to a filled-in form: /jobs/new?template=NAME&environment=NAME&parameters={"name": value}.
 * Anyone can have written it, so it only fills fields in, each of which is checked as if it had been
 * typed, and nothing is submitted by following it. Pure.
 */
import type { Parameters } from './fields';

export interface Filled {
  environment?: string;
  parameters?: Parameters;
}

const MAX_NAME = 100;
const MAX_FIELDS = 40;

const isPlain = (value: unknown): boolean =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value);

/** What of an address fills a form in; the rest of it is dropped. */
export function readFilled({ environment, parameters }: Record<string, unknown>): Filled {
  const named = typeof environment === 'string' && environment.length <= MAX_NAME;
  const object = typeof parameters === 'object' && parameters !== null ? parameters : {};
  const values = Object.entries(Array.isArray(object) ? {} : object)
    .filter(([, value]) => isPlain(value) || (Array.isArray(value) && value.every(isPlain)))
    .slice(0, MAX_FIELDS);
  return {
    ...(named ? { environment } : {}),
    ...(values.length > 0 ? { parameters: Object.fromEntries(values) } : {}),
  };
}
