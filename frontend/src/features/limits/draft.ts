/** The form of limits: what was typed, what is wrong with it, what the API gets. Pure. */
import { t } from '@lingui/core/macro';
import { isLike, isRecordOf, isText, orNull } from '@/lib/drafts';
import { LISTS, type ListField, NUMBERS, type NumberField, type Values } from './types';

/** Everything as typed; an empty text says nothing about its field. */
export interface Draft {
  numbers: Record<NumberField, string>;
  types: Record<string, string>;
  lists: Record<ListField, string>;
}

/** What was typed, and what the form had in it before. */
export interface Typed {
  before: Draft;
  now: Draft;
}

const MINUTES_IN_HOUR = 60;

function record<K extends string, V>(keys: readonly K[], valueFor: (key: K) => V): Record<K, V> {
  return Object.fromEntries(keys.map((key) => [key, valueFor(key)])) as Record<K, V>;
}

const isDraft = isLike<Draft>({
  numbers: isLike(record(NUMBERS, () => isText)),
  types: isRecordOf(isText),
  lists: isLike(record(LISTS, () => isText)),
});

export const isTyped = orNull(isLike<Typed>({ before: isDraft, now: isDraft }));

/** Hours, as short as they come: 90 → "1.5", 100 → "1.67". */
function hoursText(minutes: number): string {
  return String(Math.round((minutes / MINUTES_IN_HOUR) * 100) / 100);
}

function numberText(field: NumberField, value: number | null | undefined): string {
  if (value === null || value === undefined) return '';
  return field === 'time_limit_minutes' ? hoursText(value) : String(value);
}

/** `types`: the GPU types of the cluster; those that the limits name are there anyhow. */
export function draftOf(values: Partial<Values> | null, types: readonly string[]): Draft {
  const byType = values?.gpus_by_type ?? {};
  const all = [...new Set([...types, ...Object.keys(byType)])];
  return {
    numbers: record(NUMBERS, (field) => numberText(field, values?.[field])),
    types: record(all, (type) => (byType[type] === undefined ? '' : String(byType[type]))),
    lists: record(LISTS, (field) => values?.[field]?.join(', ') ?? ''),
  };
}

const WHOLE = /^\d{1,9}$/;
const HOURS = /^\d{1,6}([.,]\d{1,3})?$/;

export type Errors = Record<string, string>;

/** By the name of the field, as the API names it too. */
export function formErrors(draft: Draft): Errors {
  const errors: Errors = {};
  for (const field of NUMBERS) {
    const text = draft.numbers[field].trim();
    if (text === '') continue;
    if (field === 'time_limit_minutes') {
      if (!HOURS.test(text) || minutesOf(text) < 1)
        errors[field] = t`Enter hours, such as 24 or 1.5.`;
    } else if (!WHOLE.test(text)) errors[field] = t`Enter a whole number, 0 or more.`;
  }
  for (const [type, text] of Object.entries(draft.types))
    if (text.trim() !== '' && !WHOLE.test(text.trim()))
      errors[`gpus_by_type.${type}`] = t`Enter a whole number, 0 or more.`;
  return errors;
}

function minutesOf(hours: string): number {
  return Math.round(Number(hours.replace(',', '.')) * MINUTES_IN_HOUR);
}

/** Names between commas or spaces, each once. */
export function namesOf(text: string): string[] {
  return [...new Set(text.split(/[\s,;]+/).filter((name) => name !== ''))];
}

/** What the API gets. `before` keeps minutes that two digits of hours can't say. */
export function toValues(draft: Draft, before: Partial<Values> | null): Values {
  const number = (field: NumberField): number | null => {
    const text = draft.numbers[field].trim();
    if (text === '') return null;
    if (field !== 'time_limit_minutes') return Number(text);
    const known = before?.time_limit_minutes ?? null;
    return known !== null && hoursText(known) === text ? known : minutesOf(text);
  };
  const types = Object.entries(draft.types).filter(([, text]) => text.trim() !== '');
  const list = (field: ListField): string[] | null => {
    const names = namesOf(draft.lists[field]);
    return names.length === 0 ? null : names;
  };
  return {
    ...record(NUMBERS, number),
    ...record(LISTS, list),
    gpus_by_type:
      types.length === 0
        ? null
        : Object.fromEntries(types.map(([type, text]) => [type, Number(text.trim())])),
  };
}

/** Whether it says nothing at all: then there is no limit to keep. */
export function isEmptyLimit(values: Values): boolean {
  return Object.values(values).every((value) => value === null);
}

/** Rebase after another user saved: typed fields stay, untouched fields take the saved values. */
export function rebased(before: Draft, now: Draft, typed: Draft): Draft {
  const part = <K extends string>(
    old: Record<K, string>,
    theirs: Record<K, string>,
    mine: Record<K, string>,
  ): Record<K, string> => {
    const names = [...new Set([...Object.keys(theirs), ...Object.keys(mine)])] as K[];
    return record(names, (name) =>
      (mine[name] ?? '') === (old[name] ?? '') ? (theirs[name] ?? '') : mine[name],
    );
  };
  return {
    numbers: part(before.numbers, now.numbers, typed.numbers),
    types: part(before.types, now.types, typed.types),
    lists: part(before.lists, now.lists, typed.lists),
  };
}
