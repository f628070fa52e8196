/** The API's limits, by the names that these pages use. */

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

/** null: says nothing about it */
export type Values = Record<NumberField, number | null> &
  Record<ListField, string[] | null> & { gpus_by_type: Record<string, number> | null };

/** The scope of a limit; `name` is empty for the default. */
export interface LimitSource {
  scope: Scope;
  name: string;
}

/** One value that counts, and whose limit it is. */
export interface EffectiveValue {
  value: unknown;
  from: LimitSource | null;
}

/** Running work, and waiting sessions and jobs too; null where unknown. */
export type Usage = Partial<Record<Exclude<NumberField, 'time_limit_minutes'>, number | null>> & {
  gpus_by_type?: Record<string, number> | null;
};

/** What a group's members can have together; the rest is of each one's. */
export const GROUP_TOTAL_FIELDS: readonly Field[] = [
  'gpus',
  'gpus_by_type',
  'sessions',
  'jobs',
  'cpus',
  'memory_gb',
];
