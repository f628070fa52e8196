/** Limits in words. Pure. */
import { plural, t } from '@lingui/core/macro';
import { joinWithCommas } from '@/i18n/lists';
import { translate } from '@/i18n/translate';
import { memoryText } from '@/lib/resourceLabels';
import { minutesAsTime } from '@/lib/time';
import type { StateLabel } from '@/ui/StateChip';
import {
  type EffectiveValue,
  type Field,
  LISTS,
  type LimitSource,
  type Usage,
  type Values,
} from './types';

type Maybe<T> = T | null | undefined;

export const LABELS: Record<Field, string> = {
  gpus: t`GPUs at once`,
  gpus_by_type: t`GPUs by type`,
  sessions: t`Sessions at once`,
  jobs: t`Jobs at once`,
  cpus: t`CPUs at once`,
  memory_gb: t`Memory at once`,
  time_limit_minutes: t`Longest time`,
  partitions: t`Partitions`,
  accounts: t`Accounts`,
  qos: 'QOS',
};

export const FIELDS = Object.keys(LABELS) as Field[];

const isList = (field: Field): boolean => (LISTS as readonly Field[]).includes(field);

/** "4 GPUs", "2 h", "gpu, cpu", "2 v100, 1 a100"; null is no limit, or
 * any of them. */
export function valueText(field: Field, value: unknown): string {
  if (value === null || value === undefined) {
    if (field === 'accounts') return t`those set in Slurm`;
    return isList(field) ? t`any` : t`no limit`;
  }
  if (field === 'memory_gb') return memoryText(Number(value));
  if (field === 'time_limit_minutes') return minutesAsTime(Number(value));
  if (Array.isArray(value)) return value.length === 0 ? t`none` : joinWithCommas(value);
  if (typeof value === 'object')
    return (
      joinWithCommas(Object.entries(value).map(([type, gpus]) => t`${gpus} ${type}`)) || t`no limit`
    );
  return countText(field, Number(value));
}

function countText(field: Field, n: number): string {
  switch (field) {
    case 'gpus':
      return plural(n, { one: '# GPU', other: '# GPUs' });
    case 'sessions':
      return plural(n, { one: '# session', other: '# sessions' });
    case 'jobs':
      return plural(n, { one: '# job', other: '# jobs' });
    case 'cpus':
      return plural(n, { one: '# CPU', other: '# CPUs' });
    default:
      return String(n);
  }
}

/** Where a value comes from, as the end of a sentence; `user` is who reads or is read about. */
export function originText(from: LimitSource | null, user?: string): string {
  if (from === null) return '';
  const { name } = from;
  switch (from.scope) {
    case 'default':
      return t`by default`;
    case 'member':
      return t`as a member of ${name}`;
    case 'group':
      return t`shared with all of ${name}`;
    case 'user':
      return name === user || user === undefined ? t`own limit` : t`limit of ${name}`;
  }
}

/** What counts while a field is left empty: "Empty: 4 GPUs, by default". */
export function emptyText(field: Field, otherwise: Maybe<EffectiveValue>): string {
  if (otherwise === undefined) return '';
  if (field === 'accounts' && (otherwise?.value ?? null) === null)
    return t`Empty: those set in Slurm; without any, nothing can be started.`;
  const value = valueText(field, otherwise?.value);
  const origin = originText(otherwise?.from ?? null);
  return origin === '' || otherwise?.value === null
    ? t`Empty: ${value}`
    : t`Empty: ${value}, ${origin}`;
}

/** What a row of limits says, as in "4 GPUs, 64 GB of memory"; empty if it says nothing. */
export function limitText(values: Values): string {
  return joinWithCommas(
    FIELDS.flatMap((field) => {
      const value = values[field];
      return value === null || value === undefined ? [] : [fullText(field, value)];
    }),
  );
}

/** A value that says of what it is. */
function fullText(field: Field, value: unknown): string {
  const text = valueText(field, value);
  switch (field) {
    case 'memory_gb':
      return t`${text} of memory`;
    case 'time_limit_minutes':
      return t`${text} at most`;
    case 'partitions':
      return t`partitions: ${text}`;
    case 'accounts':
      return t`accounts: ${text}`;
    case 'qos':
      return t`QOS: ${text}`;
    default:
      return text;
  }
}

export type SlurmState = 'written' | 'pending' | 'refused' | 'nothing';

export function slurmStateLabel(state: SlurmState): StateLabel {
  switch (state) {
    case 'written':
      return { label: t`Applied in Slurm`, tone: 'good' };
    case 'pending':
      return { label: t`Being applied to Slurm`, tone: 'busy' };
    case 'refused':
      return { label: t`Slurm refused it`, tone: 'bad' };
    case 'nothing':
      return { label: t`Nothing for Slurm`, tone: 'quiet' };
  }
}

export function associationStateLabel(state: SlurmState | 'drifted'): StateLabel {
  if (state === 'drifted') return { label: t`Drift`, tone: 'waiting' };
  if (state === 'written') return { label: t`Slurm has it`, tone: 'good' };
  return slurmStateLabel(state);
}

/** The limit by which the portal closes a partition for a user. */
const JOBS_IN_SLURM = 'Pending and running jobs';

/** "GPUs at once: 2; Time limit: 60 minutes", in the portal's own words for Slurm's figures.
 * `partition`: whose association it is, empty for one that holds in all of them. */
export function figuresText(figures: Readonly<Record<string, string>>, partition = ''): string {
  if (partition !== '' && figures[JOBS_IN_SLURM] === '0') return t`closed: no jobs here`;
  const texts = Object.entries(figures).map(([figure, text]) => {
    const [name, value] = [translate(figure), translate(text)];
    return t`${name}: ${value}`;
  });
  return texts.length === 0 ? t`nothing` : texts.reduce((all, next) => t`${all}; ${next}`);
}

/** "bob in account research, partition gpu"; an account's own has no user. */
export function placeText(place: { account: string; username: string; partition: string }): string {
  const { account, username, partition } = place;
  if (username)
    return partition
      ? t`${username} in account ${account}, partition ${partition}`
      : t`${username} in account ${account}`;
  return partition
    ? t`All of account ${account}, partition ${partition}`
    : t`All of account ${account}`;
}

type Effective = Readonly<Record<string, { otherwise: Maybe<EffectiveValue> }>>;

/** What counts for each field if the user's own limit says nothing of it. */
export function fallbacksOf(effective: Effective): Partial<Record<Field, EffectiveValue | null>> {
  return Object.fromEntries(FIELDS.map((field) => [field, effective[field]?.otherwise ?? null]));
}

/** The same for the members of a group: the default applies to them. */
export function defaultFallbacks(
  limit: Values | undefined,
): Partial<Record<Field, EffectiveValue | null>> {
  const from: LimitSource = { scope: 'default', name: '' };
  const fallbackOf = (field: Field): EffectiveValue | null => {
    const value = limit?.[field] ?? null;
    return value === null ? null : { value, from };
  };
  return Object.fromEntries(FIELDS.map((field) => [field, fallbackOf(field)]));
}

/** A group's common limit in the form in which a user's counts. */
export function sharedCounting(limit: Values): Partial<Record<Field, EffectiveValue>> {
  const named = FIELDS.filter((field) => limit[field] !== null);
  return Object.fromEntries(named.map((field) => [field, { value: limit[field], from: null }]));
}

/** "2 GPUs, 1 session, 3 jobs": current usage; "nothing" if there is none. */
export function usageText(use: Usage): string {
  const texts = (['gpus', 'sessions', 'jobs'] as const).flatMap((field) => {
    const number = use[field] ?? 0;
    return number === 0 ? [] : [valueText(field, number)];
  });
  return joinWithCommas(texts) || (use.gpus === null ? t`GPUs not known` : t`nothing`);
}

type Ceiling = Readonly<Record<string, { value: unknown }>>;

/** "Up to 4 GPUs": the most that a manager may give; empty where nothing limits it. */
export function ceilingText(field: Field, ceiling: Ceiling): string {
  const most = ceiling[field]?.value ?? null;
  if (most === null) return '';
  const value = valueText(field, most);
  return isList(field) ? t`Some of: ${value}` : t`Up to ${value}`;
}

/** Lists are a leader's to narrow only where the group has one. */
export const managerMaySet = (field: Field, ceiling: Ceiling): boolean =>
  !isList(field) || (ceiling[field]?.value ?? null) !== null;
