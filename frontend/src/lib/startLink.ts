/**
 * A link to a filled-in form: /start?environment=NAME&gpus=1&cpus=4&… It may be written by anyone,
 * so it only fills in fields, which are validated like typed ones; following it starts nothing.
 * Pure.
 */
import type { ResourceRequest, SessionRequest } from '@/api/types';

const TEXTS = ['partition', 'gpu_type', 'account', 'qos'] as const;
const NUMBERS = ['gpus', 'cpus', 'memory_gb', 'time_limit_minutes'] as const;
const MAX_TEXT = 100;
const MAX_NUMBER = 1_000_000;

/** The fields that a link fills in, named as in the API. */
export interface StartLink {
  environment?: string;
  starter?: string;
  /** the app with which the session opens instead of JupyterLab */
  app?: string;
  partition?: string;
  gpu_type?: string;
  account?: string;
  qos?: string;
  gpus?: number;
  cpus?: number;
  memory_gb?: number;
  time_limit_minutes?: number;
}

/** Return a parameter's text. The router parses "2024" in an address as a number. */
function text(value: unknown): string | undefined {
  const read = typeof value === 'number' ? String(value) : value;
  return typeof read === 'string' && read !== '' && read.length <= MAX_TEXT ? read : undefined;
}

const number = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 && value <= MAX_NUMBER ? value : undefined;

/** Parse the address's parameters; unknown and invalid ones are dropped. */
export function readStartLink(search: Record<string, unknown>): StartLink {
  const read: [string, string | number | undefined][] = [
    ...(['environment', 'starter', 'app', ...TEXTS] as const).map(
      (key) => [key, text(search[key])] as [string, string | undefined],
    ),
    ...NUMBERS.map((key) => [key, number(search[key])] as [string, number | undefined]),
  ];
  return Object.fromEntries(read.filter(([, value]) => value !== undefined)) as StartLink;
}

/** Return the resources in a link; null if it has none. */
export function linkResources(link: StartLink): ResourceRequest | null {
  const { environment: _, starter: __, app: ___, ...resources } = link;
  return Object.keys(resources).length === 0 ? null : resources;
}

/** Convert a session's request to a link; fields without a value are omitted. */
export function toStartLink(
  request: Pick<SessionRequest, 'environment' | 'resources' | 'starter'> & { app?: string },
): StartLink {
  const { environment, resources, starter, app } = request;
  return readStartLink({ ...resources, environment, starter, app });
}
