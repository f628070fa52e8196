/**
 * A link to a filled-in form: /start?environment=NAME&gpus=1&cpus=4&…
 * Anyone can have written it, so it only fills fields in, each of which is checked as if it had been
 * typed, and nothing is started by following it. Pure.
 */
import type { SessionRequest, SomeResources } from '@/api/types';

const TEXTS = ['partition', 'gpu_type', 'account', 'qos'] as const;
const NUMBERS = ['gpus', 'cpus', 'memory_gb', 'time_limit_minutes'] as const;
const MAX_TEXT = 100;
const MAX_NUMBER = 1_000_000;

/** What a link asks for; its names are those of the API. */
export interface StartLink {
  environment?: string;
  starter?: string;
  partition?: string;
  gpu_type?: string;
  account?: string;
  qos?: string;
  gpus?: number;
  cpus?: number;
  memory_gb?: number;
  time_limit_minutes?: number;
}

/** The router reads "2024" in an address as a number. */
function text(value: unknown): string | undefined {
  const read = typeof value === 'number' ? String(value) : value;
  return typeof read === 'string' && read !== '' && read.length <= MAX_TEXT ? read : undefined;
}

const number = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 && value <= MAX_NUMBER ? value : undefined;

/** What of an address fills the form in; the rest of it is dropped. */
export function readStartLink(search: Record<string, unknown>): StartLink {
  const read: [string, string | number | undefined][] = [
    ...(['environment', 'starter', ...TEXTS] as const).map(
      (key) => [key, text(search[key])] as [string, string | undefined],
    ),
    ...NUMBERS.map((key) => [key, number(search[key])] as [string, number | undefined]),
  ];
  return Object.fromEntries(read.filter(([, value]) => value !== undefined)) as StartLink;
}

/** The resources that a link names; null where it names none. */
export function linkResources(link: StartLink): SomeResources | null {
  const { environment: _, starter: __, ...resources } = link;
  return Object.keys(resources).length === 0 ? null : resources;
}

/** What an address says of a session's request; what is the site's own choice is left out. */
export function toStartLink(
  request: Pick<SessionRequest, 'environment' | 'resources' | 'starter'>,
): StartLink {
  const { environment, resources, starter } = request;
  return readStartLink({ ...resources, environment, starter });
}
