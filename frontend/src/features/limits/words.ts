/** Limits in words. Pure. */
import type { StateWords } from '@/features/sessions/words';
import { memoryText, plural } from '@/features/sessions/words';
import { minutesAsTime } from '@/lib/time';
import type { Counting, Field, Values, Whose } from './shapes';

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

/** "4 GPUs", "2 h", "gpu, cpu", "2 v100, 1 a100"; null is no limit. */
export function valueText(field: Field, value: unknown): string {
  if (value === null || value === undefined) return 'no limit';
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

/** Whose limits these are, as a heading. */
export function whoseText({ scope, name }: Whose): string {
  switch (scope) {
    case 'default':
      return 'Everybody, by default';
    case 'member':
      return `Each member of ${name}`;
    case 'group':
      return `${name}, all members together`;
    case 'person':
      return name;
  }
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
export function emptyText(field: Field, otherwise: Counting | null | undefined): string {
  if (otherwise === undefined) return '';
  if (otherwise === null || otherwise.value === null) return 'Empty: no limit';
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
      return { label: 'Slurm has it', tone: 'good' };
    case 'pending':
      return { label: 'Slurm is being told', tone: 'busy' };
    case 'refused':
      return { label: 'Slurm refused it', tone: 'bad' };
    case 'nothing':
      return { label: 'Nothing for Slurm', tone: 'quiet' };
  }
}
