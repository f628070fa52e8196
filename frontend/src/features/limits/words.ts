/** Limits in words. Pure. */
import type { StateWords } from '@/features/sessions/words';
import { memoryText, plural } from '@/features/sessions/words';
import { minutesAsTime } from '@/lib/time';
import { type Counting, type Field, LISTS, type Use, type Values, type Whose } from './shapes';

type Maybe<T> = T | null | undefined;

export const LABELS: Record<Field, string> = {
  gpus: 'GPUs at once',
  gpus_by_type: 'GPUs by type',
  sessions: 'Sessions at once',
  jobs: 'Jobs at once',
  cpus: 'CPUs at once',
  memory_gb: 'Memory at once',
  time_limit_minutes: 'Longest time',
  partitions: 'Partitions',
  accounts: 'Accounts',
  qos: 'QOS',
};

export const FIELDS = Object.keys(LABELS) as Field[];

const UNITS: Partial<Record<Field, string>> = {
  gpus: 'GPU',
  sessions: 'session',
  jobs: 'job',
  cpus: 'CPU',
};

const isList = (field: Field): boolean => (LISTS as readonly Field[]).includes(field);

/** "4 GPUs", "2 h", "gpu, cpu", "2 v100, 1 a100"; null is no limit, or
 * any of them. */
export function valueText(field: Field, value: unknown): string {
  if (value === null || value === undefined) return isList(field) ? 'any' : 'no limit';
  if (field === 'memory_gb') return memoryText(Number(value));
  if (field === 'time_limit_minutes') return minutesAsTime(Number(value));
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ');
  if (typeof value === 'object')
    return (
      Object.entries(value)
        .map(([type, n]) => `${n} ${type}`)
        .join(', ') || 'no limit'
    );
  const unit = UNITS[field];
  return unit === undefined ? String(value) : plural(Number(value), unit);
}

/** Where a value comes from, as the end of a sentence; `person` is who reads or is read about. */
export function originText(from: Whose | null, person?: string): string {
  if (from === null) return '';
  switch (from.scope) {
    case 'default':
      return 'by default';
    case 'member':
      return `as a member of ${from.name}`;
    case 'group':
      return `shared with all of ${from.name}`;
    case 'person':
      return from.name === person || person === undefined ? 'own limit' : `limit of ${from.name}`;
  }
}

/** What counts while a field is left empty: "Empty: 4 GPUs, by default". */
export function emptyText(field: Field, otherwise: Maybe<Counting>): string {
  if (otherwise === undefined) return '';
  if (otherwise === null || otherwise.value === null) return `Empty: ${valueText(field, null)}`;
  const origin = originText(otherwise.from);
  return `Empty: ${valueText(field, otherwise.value)}${origin && `, ${origin}`}`;
}

/** What a row of limits says, each as "4 GPUs": for tables. */
export function said(values: Values): string[] {
  return FIELDS.flatMap((field) => {
    const value = values[field];
    if (value === null || value === undefined) return [];
    const text = valueText(field, value);
    switch (field) {
      case 'memory_gb':
        return [`${text} of memory`];
      case 'time_limit_minutes':
        return [`${text} at most`];
      case 'partitions':
        return [`partitions: ${text}`];
      case 'accounts':
        return [`accounts: ${text}`];
      case 'qos':
        return [`QOS: ${text}`];
      default:
        return [text];
    }
  });
}

export type SlurmState = 'written' | 'pending' | 'refused' | 'nothing';

export function slurmWords(state: SlurmState): StateWords {
  switch (state) {
    case 'written':
      return { label: 'Slurm was told', tone: 'good' };
    case 'pending':
      return { label: 'Slurm is being told', tone: 'busy' };
    case 'refused':
      return { label: 'Slurm refused it', tone: 'bad' };
    case 'nothing':
      return { label: 'Nothing for Slurm', tone: 'quiet' };
  }
}

export function associationWords(state: SlurmState | 'drifted'): StateWords {
  if (state === 'drifted') return { label: 'Changed by hand', tone: 'waiting' };
  if (state === 'written') return { label: 'Slurm has it', tone: 'good' };
  return slurmWords(state);
}

/** The figure by which the portal closes a partition to somebody. */
const JOBS_IN_SLURM = 'Jobs that wait or run';

/** "GPUs at once: 2; Longest time: 60 minutes", in the portal's own words for Slurm's figures.
 * `partition`: whose association it is, empty for one that holds in all of them. */
export function figuresText(figures: Readonly<Record<string, string>>, partition = ''): string {
  if (partition !== '' && figures[JOBS_IN_SLURM] === '0') return 'closed: no jobs here';
  const entries = Object.entries(figures);
  return entries.length === 0
    ? 'nothing'
    : entries.map(([name, value]) => `${name}: ${value}`).join('; ');
}

/** "bob in account research, partition gpu"; an account's own has no person. */
export function placeText(place: { account: string; username: string; partition: string }): string {
  const where = `account ${place.account}`;
  const whole = place.username ? `${place.username} in ${where}` : `All of ${where}`;
  return place.partition ? `${whole}, partition ${place.partition}` : whole;
}

type Effective = Readonly<Record<string, { otherwise: Maybe<Counting> }>>;

/** What counts for each field if the person's own limit says nothing of it. */
export function otherwiseOf(effective: Effective): Partial<Record<Field, Counting | null>> {
  return Object.fromEntries(FIELDS.map((field) => [field, effective[field]?.otherwise ?? null]));
}

/** The same for a group's members, whom the default concerns. */
export function defaultOtherwise(
  limit: Values | undefined,
): Partial<Record<Field, Counting | null>> {
  const from: Whose = { scope: 'default', name: '' };
  const of = (field: Field): Counting | null => {
    const value = limit?.[field] ?? null;
    return value === null ? null : { value, from };
  };
  return Object.fromEntries(FIELDS.map((field) => [field, of(field)]));
}

/** A group's common limit in the form in which a person's counts. */
export function sharedCounting(limit: Values): Partial<Record<Field, Counting>> {
  const said = FIELDS.filter((field) => limit[field] !== null);
  return Object.fromEntries(said.map((field) => [field, { value: limit[field], from: null }]));
}

/** "2 GPUs, 1 session, 3 jobs": what somebody has now; nothing is "nothing". */
export function useText(use: Use): string {
  const texts = (['gpus', 'sessions', 'jobs'] as const).flatMap((field) => {
    const number = use[field] ?? 0;
    return number === 0 ? [] : [valueText(field, number)];
  });
  return texts.join(', ') || (use.gpus === null ? 'GPUs not known' : 'nothing');
}

type Ceiling = Readonly<Record<string, { value: unknown }>>;

/** "Up to 4 GPUs": the most that a leader may give; empty where nothing limits it. */
export function ceilingText(field: Field, ceiling: Ceiling): string {
  const value = ceiling[field]?.value ?? null;
  if (value === null) return '';
  return isList(field) ? `Some of: ${valueText(field, value)}` : `Up to ${valueText(field, value)}`;
}

/** Lists are a leader's to narrow only where the group has one. */
export const leaderMaySet = (field: Field, ceiling: Ceiling): boolean =>
  !isList(field) || (ceiling[field]?.value ?? null) !== null;
