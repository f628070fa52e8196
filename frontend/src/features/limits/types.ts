/** Types of limits, as in the API. */

export const NUMBERS = [
  'gpus',
  'sessions',
  'jobs',
  'cpus',
  'memory_gb',
  'time_limit_minutes',
] as const;
export const LISTS = ['partitions', 'accounts', 'qos'] as const;

export type NumberField = (typeof NUMBERS)[number];
export type ListField = (typeof LISTS)[number];
export type Field = NumberField | ListField | 'gpus_by_type';
export type Scope = 'default' | 'member' | 'group' | 'user';

/** The values of a limit; null is unset. */
export type Values = Record<NumberField, number | null> &
  Record<ListField, string[] | null> & { gpus_by_type: Record<string, number> | null };

/** The scope of a limit; `name` is empty for the default. */
export interface LimitSource {
  scope: Scope;
  name: string;
}

/** An effective value and the limit that it comes from. */
export interface EffectiveValue {
  value: unknown;
  from: LimitSource | null;
}

/** Usage of running work; sessions and jobs include pending ones. null if unknown. */
export type Usage = Partial<Record<Exclude<NumberField, 'time_limit_minutes'>, number | null>> & {
  gpus_by_type?: Record<string, number> | null;
};

/** The fields of group totals; the others exist per member only. */
export const GROUP_TOTAL_FIELDS: readonly Field[] = [
  'gpus',
  'gpus_by_type',
  'sessions',
  'jobs',
  'cpus',
  'memory_gb',
];
