/** The limit form's draft, its errors, and conversion to and from the API's values. Pure. */
import { t } from '@lingui/core/macro';
import { isLike, isRecordOf, isText, orNull } from '@/lib/drafts';
import { LISTS, type ListField, NUMBERS, type NumberField, type Values } from './types';

/** The typed texts; a field with an empty text is unset. */
export interface LimitValues {
  numbers: Record<NumberField, string>;
  types: Record<string, string>;
  lists: Record<ListField, string>;
}

/** The current draft, and the stored limit's draft when typing began. */
export interface EditedLimit {
  before: LimitValues;
  now: LimitValues;
}

const MINUTES_IN_HOUR = 60;

function record<K extends string, V>(keys: readonly K[], valueFor: (key: K) => V): Record<K, V> {
  return Object.fromEntries(keys.map((key) => [key, valueFor(key)])) as Record<K, V>;
}

const isDraft = isLike<LimitValues>({
  numbers: isLike(record(NUMBERS, () => isText)),
  types: isRecordOf(isText),
  lists: isLike(record(LISTS, () => isText)),
});

export const isEditedLimit = orNull(isLike<EditedLimit>({ before: isDraft, now: isDraft }));

/** Return minutes as hours with up to two decimals: 90 → "1.5", 100 → "1.67". */
function hoursText(minutes: number): string {
  return String(Math.round((minutes / MINUTES_IN_HOUR) * 100) / 100);
}

function numberText(field: NumberField, value: number | null | undefined): string {
  if (value === null || value === undefined) return '';
  return field === 'time_limit_minutes' ? hoursText(value) : String(value);
}

/** Return the draft of a limit, with fields for the cluster's GPU types and those of the limit. */
export function toLimitValues(
  values: Partial<Values> | null,
  types: readonly string[],
): LimitValues {
  const byType = values?.gpus_by_type ?? {};
  const all = [...new Set([...types, ...Object.keys(byType)])];
  return {
    numbers: record(NUMBERS, (field) => numberText(field, values?.[field])),
    types: record(all, (type) => (byType[type] === undefined ? '' : String(byType[type]))),
    lists: record(LISTS, (field) => values?.[field]?.join(', ') ?? ''),
  };
}

const WHOLE_NUMBER = /^\d{1,9}$/;
const HOURS = /^\d{1,6}([.,]\d{1,3})?$/;

export type LimitErrors = Record<string, string>;

/** Return the errors by field, as the API names them. */
export function formErrors(draft: LimitValues): LimitErrors {
  const errors: LimitErrors = {};
  for (const field of NUMBERS) {
    const text = draft.numbers[field].trim();
    if (text === '') continue;
    if (field === 'time_limit_minutes') {
      if (!HOURS.test(text) || minutesOf(text) < 1)
        errors[field] = t`Enter hours, such as 24 or 1.5.`;
    } else if (!WHOLE_NUMBER.test(text)) errors[field] = t`Enter a whole number, 0 or more.`;
  }
  for (const [type, text] of Object.entries(draft.types))
    if (text.trim() !== '' && !WHOLE_NUMBER.test(text.trim()))
      errors[`gpus_by_type.${type}`] = t`Enter a whole number, 0 or more.`;
  return errors;
}

function minutesOf(hours: string): number {
  return Math.round(Number(hours.replace(',', '.')) * MINUTES_IN_HOUR);
}

/** Split a text at commas, semicolons and spaces into distinct names. */
export function namesOf(text: string): string[] {
  return [...new Set(text.split(/[\s,;]+/).filter((name) => name !== ''))];
}

/** Return the API's values. Minutes of `stored` that two decimals of hours can't express are kept. */
export function toApiValues(draft: LimitValues, stored: Partial<Values> | null): Values {
  const number = (field: NumberField): number | null => {
    const text = draft.numbers[field].trim();
    if (text === '') return null;
    if (field !== 'time_limit_minutes') return Number(text);
    const minutes = stored?.time_limit_minutes ?? null;
    return minutes !== null && hoursText(minutes) === text ? minutes : minutesOf(text);
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

/** Return whether all fields are unset, so that no limit needs to be stored. */
export function isEmptyLimit(values: Values): boolean {
  return Object.values(values).every((value) => value === null);
}

/** Rebase after another user saved: typed fields stay, untouched fields take the saved values. */
export function rebased(before: LimitValues, saved: LimitValues, typed: LimitValues): LimitValues {
  const rebasedPart = <K extends string>(
    before: Record<K, string>,
    saved: Record<K, string>,
    typed: Record<K, string>,
  ): Record<K, string> => {
    const names = [...new Set([...Object.keys(saved), ...Object.keys(typed)])] as K[];
    return record(names, (name) =>
      (typed[name] ?? '') === (before[name] ?? '') ? (saved[name] ?? '') : typed[name],
    );
  };
  return {
    numbers: rebasedPart(before.numbers, saved.numbers, typed.numbers),
    types: rebasedPart(before.types, saved.types, typed.types),
    lists: rebasedPart(before.lists, saved.lists, typed.lists),
  };
}
