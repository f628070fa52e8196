/** Limits as the API tells them, by the names these pages use. */

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
export type Scope = 'default' | 'member' | 'group' | 'person';

/** null: says nothing about it */
export type Values = Record<NumberField, number | null> &
  Record<ListField, string[] | null> & { gpus_by_type: Record<string, number> | null };

/** Whom a limit is for; `name` is empty for the default. */
export interface Whose {
  scope: Scope;
  name: string;
}

/** One value that counts, and whose limit it is. */
export interface Counting {
  value: unknown;
  from: Whose | null;
}

/** What runs, and sessions and jobs that wait too; null where nobody knows. */
export type Use = Partial<Record<Exclude<NumberField, 'time_limit_minutes'>, number | null>> & {
  gpus_by_type?: Record<string, number> | null;
};

/** What a group's members can have together; the rest is of each one's. */
export const TOGETHER: readonly Field[] = [
  'gpus',
  'gpus_by_type',
  'sessions',
  'jobs',
  'cpus',
  'memory_gb',
];
