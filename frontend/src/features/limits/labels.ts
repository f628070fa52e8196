/** Limits, usage and associations as text. Pure. */
import { plural, t } from '@lingui/core/macro';
import type { Drift } from '@/api/types';
import { joinWithCommas } from '@/i18n/lists';
import { translate } from '@/i18n/translate';
import { cpuCountText, gpuCountText } from '@/lib/resourceLabels';
import { memoryText } from '@/lib/sizes';
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
  time_limit_minutes: t`Maximum time limit`,
  partitions: t`Partitions`,
  accounts: t`Slurm accounts`,
  qos: 'QOS',
};

export const FIELDS = Object.keys(LABELS) as Field[];

const isList = (field: Field): boolean => (LISTS as readonly Field[]).includes(field);

/** Return a value as text, as in "4 GPUs", "2 h" or "gpu, cpu"; null is no limit, or any name. */
export function limitValueText(field: Field, value: unknown): string {
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
  return amountText(field, Number(value));
}

function amountText(field: Field, n: number): string {
  switch (field) {
    case 'gpus':
      return gpuCountText(n);
    case 'cpus':
      return cpuCountText(n);
    case 'sessions':
      return plural(n, { one: '# session', other: '# sessions' });
    case 'jobs':
      return plural(n, { one: '# job', other: '# jobs' });
    default:
      return String(n);
  }
}

/** Return the source of a value, as the end of a sentence; `user` is the limited user. */
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
      return name === user || user === undefined ? t`personal limit` : t`limit of ${name}`;
  }
}

/** Return the value that applies if a field is empty, as in "If empty: 4 GPUs, by default". */
export function emptyText(field: Field, fallback: Maybe<EffectiveValue>): string {
  if (fallback === undefined) return '';
  if (field === 'accounts' && (fallback?.value ?? null) === null)
    return t`If empty: the Slurm accounts that the user has; without any, nothing can be started.`;
  const value = limitValueText(field, fallback?.value);
  const origin = originText(fallback?.from ?? null);
  return origin === '' || fallback?.value === null
    ? t`If empty: ${value}`
    : t`If empty: ${value}, ${origin}`;
}

/** Return a limit as text, as in "4 GPUs, 64 GB of memory"; empty if all fields are unset. */
export function limitText(values: Values): string {
  return joinWithCommas(
    FIELDS.flatMap((field) => {
      const value = values[field];
      return value === null || value === undefined ? [] : [labeledText(field, value)];
    }),
  );
}

/** Return a value as text with the name of its field, as in "64 GB of memory". */
function labeledText(field: Field, value: unknown): string {
  const text = limitValueText(field, value);
  switch (field) {
    case 'memory_gb':
      return t`${text} of memory`;
    case 'time_limit_minutes':
      return t`${text} at most`;
    case 'partitions':
      return t`partitions: ${text}`;
    case 'accounts':
      return t`Slurm accounts: ${text}`;
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
      return { label: t`Nothing to apply`, tone: 'quiet' };
  }
}

export function associationStateLabel(state: SlurmState | 'drifted'): StateLabel {
  if (state === 'drifted') return { label: t`Drift`, tone: 'waiting' };
  return slurmStateLabel(state);
}

/** The API's name for an association's limit on the number of jobs; 0 means that the user may not use
 * the partition. */
const JOBS_FIGURE = 'Pending and running jobs';

/** Return an association's limits as text, as in "GPUs at once: 2; Time limit: 60 minutes".
 * `partition` is the association's; empty if it applies to all partitions. */
export function figuresText(figures: Readonly<Record<string, string>>, partition = ''): string {
  if (partition !== '' && figures[JOBS_FIGURE] === '0') return t`closed: no jobs here`;
  const texts = Object.entries(figures).map(([figure, text]) => {
    const [name, value] = [translate(figure), translate(text)];
    return t`${name}: ${value}`;
  });
  return texts.length === 0 ? t`nothing` : texts.reduce((all, next) => t`${all}; ${next}`);
}

type AssociationKey = Pick<Drift, 'account' | 'username' | 'partition'>;

/** Return the name of an association, as in "bob in Slurm account research, partition gpu"; an
 * account's own association has no user. */
export function associationText({ account, username, partition }: AssociationKey): string {
  if (username)
    return partition
      ? t`${username} in Slurm account ${account}, partition ${partition}`
      : t`${username} in Slurm account ${account}`;
  return partition
    ? t`All of Slurm account ${account}, partition ${partition}`
    : t`All of Slurm account ${account}`;
}

type Effective = Readonly<Record<string, { otherwise: Maybe<EffectiveValue> }>>;

/** Return the values that apply to fields which the user's own limit leaves unset. */
export function fallbacksOf(effective: Effective): Partial<Record<Field, EffectiveValue | null>> {
  return Object.fromEntries(FIELDS.map((field) => [field, effective[field]?.otherwise ?? null]));
}

/** Return the values that apply to fields which a group's limit per member leaves unset. */
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

/** Return a group total as effective values. */
export function groupTotalValues(limit: Values): Partial<Record<Field, EffectiveValue>> {
  const fields = FIELDS.filter((field) => limit[field] !== null);
  return Object.fromEntries(fields.map((field) => [field, { value: limit[field], from: null }]));
}

/** Return the current usage as text, as in "2 GPUs, 1 session, 3 jobs"; "nothing" if there is none. */
export function usageText(use: Usage): string {
  const texts = (['gpus', 'sessions', 'jobs'] as const).flatMap((field) => {
    const number = use[field] ?? 0;
    return number === 0 ? [] : [limitValueText(field, number)];
  });
  return joinWithCommas(texts) || (use.gpus === null ? t`– GPUs` : t`nothing`);
}

type Ceiling = Readonly<Record<string, { value: unknown }>>;

/** Return the highest value that a manager may set, as in "Up to 4 GPUs"; empty if unlimited. */
export function ceilingText(field: Field, ceiling: Ceiling): string {
  const maximum = ceiling[field]?.value ?? null;
  if (maximum === null) return '';
  const value = limitValueText(field, maximum);
  return isList(field) ? t`Choose from: ${value}` : t`Up to ${value}`;
}

/** Return whether a manager may set a field; lists only if the group has one to narrow. */
export const managerMaySet = (field: Field, ceiling: Ceiling): boolean =>
  !isList(field) || (ceiling[field]?.value ?? null) !== null;
