/**
 * A form from a template's JSON Schema: its fields, what is typed into them, and the parameters
 * that come of it. Pure. The portal checks again; this spares users a refusal they could see coming.
 */

import { t } from '@lingui/core/macro';
import { joinWithCommas } from '@/i18n/lists';

export type Widget = 'number' | 'choice' | 'path' | 'text' | 'flag' | 'list';
type Kind = 'number' | 'integer' | 'string' | 'boolean';

/** What a number or an element of a list may be. */
interface Rule {
  kind: Kind;
  minimum: number | null;
  maximum: number | null;
  /** the bound itself is not allowed */
  above: number | null;
  below: number | null;
  minLength: number;
  maxLength: number;
  pattern: RegExp | null;
  choices: readonly unknown[] | null;
}

export interface Field {
  name: string;
  title: string;
  description: string | null;
  widget: Widget;
  unit: string | null;
  /** may be left empty */
  nullable: boolean;
  /** undefined: there is none, it must be filled in */
  preset: unknown;
  rule: Rule;
  minItems: number;
  maxItems: number;
  unique: boolean;
}

/** Text as typed, a number field's text too; a flag is a boolean. */
export type Typed = string | boolean;
export type Values = Readonly<Record<string, Typed>>;
export type Parameters = Record<string, unknown>;

const MAX_TEXT = 4096;
const MAX_ITEMS = 1000;
const WIDGETS: readonly string[] = ['number', 'choice', 'path', 'text', 'flag', 'list'];

type Json = Record<string, unknown>;

const asJson = (value: unknown): Json =>
  typeof value === 'object' && value !== null ? (value as Json) : {};
const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);

function typesOf(schema: Json): string[] {
  return Array.isArray(schema.type) ? schema.type.map(String) : [String(schema.type)];
}

function regExp(pattern: unknown): RegExp | null {
  if (typeof pattern !== 'string') return null;
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return null; // it may be right for the portal, which checks in the end
  }
}

function ruleOf(schema: Json): Rule {
  const [kind = 'string'] = typesOf(schema).filter((type) => type !== 'null');
  return {
    kind: kind as Kind,
    minimum: number(schema.minimum),
    maximum: number(schema.maximum),
    above: number(schema.exclusiveMinimum),
    below: number(schema.exclusiveMaximum),
    minLength: number(schema.minLength) ?? 0,
    maxLength: number(schema.maxLength) ?? MAX_TEXT,
    pattern: regExp(schema.pattern),
    choices: Array.isArray(schema.enum) ? schema.enum : null,
  };
}

function widgetOf(schema: Json): Widget {
  const widgetName = text(schema['x-widget']) ?? '';
  if (WIDGETS.includes(widgetName)) return widgetName as Widget;
  if (Array.isArray(schema.enum)) return 'choice';
  const [kind] = typesOf(schema);
  return kind === 'boolean'
    ? 'flag'
    : kind === 'array'
      ? 'list'
      : kind === 'string'
        ? 'text'
        : 'number';
}

function fieldOf(name: string, schema: Json): Field {
  const widget = widgetOf(schema);
  const choices = Array.isArray(schema.enum) ? schema.enum : [];
  return {
    name,
    title: text(schema.title) ?? name,
    description: text(schema.description),
    widget,
    unit: text(schema['x-unit']),
    nullable: typesOf(schema).includes('null') || choices.includes(null),
    preset: schema.default,
    rule: ruleOf(widget === 'list' ? asJson(schema.items) : schema),
    minItems: number(schema.minItems) ?? 0,
    maxItems: number(schema.maxItems) ?? MAX_ITEMS,
    unique: schema.uniqueItems === true,
  };
}

/** The fields of a template's parameters, in its own order. */
export function fieldsOf(parameters: Json): Field[] {
  const properties = Object.entries(asJson(parameters.properties));
  const place = (schema: unknown): number => number(asJson(schema)['x-order']) ?? 0;
  return properties
    .sort(([, a], [, b]) => place(a) - place(b))
    .map(([name, schema]) => fieldOf(name, asJson(schema)));
}

/** The key of a choice in a select's options: JSON distinguishes 1 from "1". */
export const choiceKey = (choice: unknown): string => JSON.stringify(choice);

function typed(field: Field, value: unknown): Typed {
  if (field.widget === 'flag') return value === true;
  if (field.widget === 'choice') return value === undefined ? '' : choiceKey(value);
  if (field.widget === 'list') return Array.isArray(value) ? value.map(String).join('\n') : '';
  return value === null || value === undefined ? '' : String(value);
}

/** What the form begins with: an earlier job's parameters, else the template's own. */
export function firstValues(fields: readonly Field[], given: Parameters = {}): Values {
  return Object.fromEntries(
    fields.map((field) => [
      field.name,
      typed(field, field.name in given ? given[field.name] : field.preset),
    ]),
  );
}

function isTyped(field: Field, value: unknown): boolean {
  if (field.widget === 'flag') return typeof value === 'boolean';
  if (typeof value !== 'string') return false;
  const choices = field.widget === 'choice' ? field.rule.choices : null;
  return value === '' || (choices?.map(choiceKey).includes(value) ?? true);
}

/** Whether what a tab has kept can stand in these fields; the template may have changed since. */
export const areTyped =
  (fields: readonly Field[]) =>
  (values: unknown): values is Values =>
    fields.every((field) => isTyped(field, asJson(values)[field.name]));

const numeric = (kind: Kind): boolean => kind === 'number' || kind === 'integer';

/** A list's elements: one per line; numbers also between commas or blanks. */
function elements(field: Field, value: string): string[] {
  const cut = numeric(field.rule.kind) ? value.split(/[\s,;]+/) : value.split('\n');
  return cut.map((line) => line.replace(/\r$/, '')).filter((line) => line.trim() !== '');
}

const element = (rule: Rule, word: string): unknown => (numeric(rule.kind) ? Number(word) : word);

function parameter(field: Field, value: Typed): unknown {
  if (typeof value === 'boolean') return value;
  if (field.widget === 'list')
    return elements(field, value).map((word) => element(field.rule, word));
  if (field.widget === 'choice') return value === '' ? undefined : JSON.parse(value);
  const bare = field.widget === 'text' ? value : value.trim();
  if (bare === '' && field.nullable) return null;
  if (numeric(field.rule.kind)) return bare === '' ? undefined : Number(bare);
  return bare;
}

/** What is sent. A field that holds nothing at all isn't sent. */
export function toParameters(fields: readonly Field[], values: Values): Parameters {
  const found = fields.map((field) => [field.name, parameter(field, values[field.name] ?? '')]);
  return Object.fromEntries(found.filter(([, value]) => value !== undefined));
}

/** "1 to 100000", "more than 0, at most 10", "" */
export function rangeText({ minimum, maximum, above, below }: Rule): string {
  if (minimum !== null && maximum !== null) return t`${minimum} to ${maximum}`;
  const parts = [
    minimum !== null && t`at least ${minimum}`,
    above !== null && t`more than ${above}`,
    maximum !== null && t`at most ${maximum}`,
    below !== null && t`less than ${below}`,
  ];
  return joinWithCommas(parts.filter((part) => part !== false));
}

function numberProblem(rule: Rule, word: string): string | null {
  const value = Number(word);
  if (word === '' || !Number.isFinite(value))
    return rule.kind === 'integer' ? t`Enter a whole number.` : t`Enter a number.`;
  if (rule.kind === 'integer' && !Number.isInteger(value)) return t`Enter a whole number.`;
  const inside =
    value >= (rule.minimum ?? value) &&
    value <= (rule.maximum ?? value) &&
    (rule.above === null || value > rule.above) &&
    (rule.below === null || value < rule.below);
  return inside ? null : t`Must be ${{ range: rangeText(rule) }}.`;
}

function textProblem(rule: Rule, word: string): string | null {
  const length = [...word].length;
  if (length > rule.maxLength) return t`At most ${{ length: rule.maxLength }} characters.`;
  if (length < rule.minLength)
    return length === 0
      ? t`This field is required.`
      : t`At least ${{ length: rule.minLength }} characters.`;
  if (rule.pattern && !rule.pattern.test(word))
    return t`This value doesn’t have the required format.`;
  return null;
}

function elementProblem(rule: Rule, word: string): string | null {
  const wrong = numeric(rule.kind) ? numberProblem(rule, word) : textProblem(rule, word);
  if (wrong !== null) return wrong;
  const allowed = rule.choices?.map(String).includes(word) ?? true;
  return allowed
    ? null
    : t`Choose from ${{ choices: joinWithCommas(rule.choices?.map(String) ?? []) }}.`;
}

function listProblem(field: Field, value: string): string | null {
  const words = elements(field, value);
  if (words.length < field.minItems)
    return field.minItems === 1
      ? t`Enter at least one value.`
      : t`At least ${{ values: field.minItems }} values.`;
  if (words.length > field.maxItems) return t`At most ${{ values: field.maxItems }} values.`;
  if (field.unique && new Set(words.map((w) => element(field.rule, w))).size < words.length)
    return t`Enter each value only once.`;
  for (const word of words) {
    const wrong = elementProblem(field.rule, word);
    if (wrong === null) continue;
    const problem = `${wrong.charAt(0).toLowerCase()}${wrong.slice(1)}`;
    return t`${word}: ${problem}`;
  }
  return null;
}

/** What is wrong with what was typed; null if nothing is. */
export function fieldProblem(field: Field, value: Typed): string | null {
  if (typeof value === 'boolean') return null;
  if (field.widget === 'list') return listProblem(field, value);
  if (field.widget === 'choice') return value === '' ? t`Choose one.` : null;
  const bare = field.widget === 'text' ? value : value.trim();
  if (bare === '' && field.nullable) return null;
  if (bare === '' && field.preset === undefined) return t`This field is required.`;
  return numeric(field.rule.kind) ? numberProblem(field.rule, bare) : textProblem(field.rule, bare);
}

export function fieldProblems(fields: readonly Field[], values: Values): Record<string, string> {
  const found = fields.map(
    (field) => [field.name, fieldProblem(field, values[field.name] ?? '')] as const,
  );
  return Object.fromEntries(found.filter((pair): pair is [string, string] => pair[1] !== null));
}

/** How many tasks an array would have; null for what is none. */
export function taskCount(spread: readonly string[], parameters: Parameters): number | null {
  if (spread.length === 0) return null;
  return spread.reduce((product, name) => {
    const list = parameters[name];
    return product * (Array.isArray(list) ? list.length : 0);
  }, 1);
}
