/** The audit's events in words. Pure. */
import type { Tone } from '@/features/sessions/words';

const INITIALISMS = new Map([
  ['tensorboard', 'TensorBoard'],
  ['csv', 'CSV'],
  ['slurm', 'Slurm'],
  ['gpus', 'GPUs'],
  ['gpu', 'GPU'],
  ['cpus', 'CPUs'],
  ['qos', 'QOS'],
  ['gb', 'GB'],
  ['ip', 'IP'],
  ['uid', 'uid'],
  ['gid', 'gid'],
]);

function word(name: string): string {
  return INITIALISMS.get(name) ?? name;
}

function sentenceCase(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `session.stop_by_admin` → "Session: stop by admin"; whatever comes later has words too. */
export function actionWords(action: string): string {
  const [subject = '', ...rest] = action.split('.');
  const words = (part: string): string => part.split('_').map(word).join(' ');
  const what = rest.map(words).join(' ');
  return sentenceCase(words(subject)) + (what === '' ? '' : `: ${what}`);
}

const BAD = /(^|[._])(failed|refused)$/;

/** Refusals stand out; all else is calm. */
export const actionTone = (action: string): Tone => (BAD.test(action) ? 'bad' : 'quiet');

/** The actions by what they are about, for the choice. */
export function byKind(actions: readonly string[]): { group: string; actions: string[] }[] {
  const kinds = new Map<string, string[]>();
  for (const action of [...actions].sort()) {
    const kind = actionWords(action.split('.')[0] ?? action);
    kinds.set(kind, [...(kinds.get(kind) ?? []), action]);
  }
  return [...kinds].map(([group, found]) => ({ group, actions: found }));
}

/** One line of an event's detail: a change has both, all else only what is. */
export interface DetailLine {
  name: string;
  old?: string;
  now: string;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value as one reads it; nothing is a dash. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.length === 0 ? '–' : value.map(valueText).join(', ');
  if (isPlain(value)) {
    const parts = Object.entries(value).map(([name, of]) => `${name}: ${valueText(of)}`);
    return parts.length === 0 ? '–' : parts.join(', ');
  }
  return String(value);
}

function isChange(value: unknown): value is { old: unknown; new: unknown } {
  return isPlain(value) && 'old' in value && 'new' in value && Object.keys(value).length === 2;
}

const nameText = (name: string): string => sentenceCase(name.split('_').map(word).join(' '));

export function detailLines(detail: Record<string, unknown>): DetailLine[] {
  return Object.entries(detail).map(([name, value]) =>
    isChange(value)
      ? { name: nameText(name), old: valueText(value.old), now: valueText(value.new) }
      : { name: nameText(name), now: valueText(value) },
  );
}

/** One line for the closed row: what changed, or what there is, shortened by the page. */
export function summary(detail: Record<string, unknown>): string {
  return detailLines(detail)
    .map(({ name, old, now }) =>
      old === undefined ? `${name}: ${now}` : `${name}: ${old} → ${now}`,
    )
    .join('; ');
}
