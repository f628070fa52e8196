/**
 * A form from a template's JSON Schema: its fields, their typed values, and the resulting
 * parameters. Pure. The portal validates the parameters; only empty fields are detected here.
 */

import { t } from '@lingui/core/macro';
import { joinWithCommas } from '@/i18n/lists';

export type Widget = 'number' | 'choice' | 'path' | 'text' | 'flag' | 'list';
type Kind = 'number' | 'integer' | 'string' | 'boolean';

/** Type and range of a value or of a list's elements, as far as the form shows them. */
interface Rule {
  kind: Kind;
  minimum: number | null;
  maximum: number | null;
  /** exclusive bounds */
  above: number | null;
  below: number | null;
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
  /** undefined if the field must be filled in */
  defaultValue: unknown;
  rule: Rule;
}

/** The typed text, also of numbers; a boolean for a flag. */
export type TypedValue = string | boolean;
export type Values = Readonly<Record<string, TypedValue>>;
export type Parameters = Record<string, unknown>;

const WIDGETS: readonly string[] = ['number', 'choice', 'path', 'text', 'flag', 'list'];

type Json = Record<string, unknown>;

const asJson = (value: unknown): Json =>
  typeof value === 'object' && value !== null ? (value as Json) : {};
const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);

function typesOf(schema: Json): string[] {
  return Array.isArray(schema.type) ? schema.type.map(String) : [String(schema.type)];
}

function ruleOf(schema: Json): Rule {
  const [kind = 'string'] = typesOf(schema).filter((type) => type !== 'null');
  return {
    kind: kind as Kind,
    minimum: number(schema.minimum),
    maximum: number(schema.maximum),
    above: number(schema.exclusiveMinimum),
    below: number(schema.exclusiveMaximum),
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
    defaultValue: schema.default,
    rule: ruleOf(widget === 'list' ? asJson(schema.items) : schema),
  };
}

/** Return the fields of a template's parameters, in the template's order. */
export function fieldsOf(parameters: Json): Field[] {
  const properties = Object.entries(asJson(parameters.properties));
  const orderOf = (schema: unknown): number => number(asJson(schema)['x-order']) ?? 0;
  return properties
    .sort(([, a], [, b]) => orderOf(a) - orderOf(b))
    .map(([name, schema]) => fieldOf(name, asJson(schema)));
}

/** Return the option value of a choice: JSON distinguishes 1 from "1". */
export const choiceKey = (choice: unknown): string => JSON.stringify(choice);

function toTyped(field: Field, value: unknown): TypedValue {
  if (field.widget === 'flag') return value === true;
  if (field.widget === 'choice') return value === undefined ? '' : choiceKey(value);
  if (field.widget === 'list') return Array.isArray(value) ? value.map(String).join('\n') : '';
  return value === null || value === undefined ? '' : String(value);
}

/** Return the initial values: the given parameters, else the template's defaults. */
export function firstValues(fields: readonly Field[], given: Parameters = {}): Values {
  return Object.fromEntries(
    fields.map((field) => [
      field.name,
      toTyped(field, Object.hasOwn(given, field.name) ? given[field.name] : field.defaultValue),
    ]),
  );
}

function isTyped(field: Field, value: unknown): boolean {
  if (field.widget === 'flag') return typeof value === 'boolean';
  if (typeof value !== 'string') return false;
  const choices = field.widget === 'choice' ? field.rule.choices : null;
  return value === '' || (choices?.map(choiceKey).includes(value) ?? true);
}

/** Return a guard for a draft's values: the template may have changed since they were stored. */
export const areTyped =
  (fields: readonly Field[]) =>
  (values: unknown): values is Values =>
    fields.every((field) => isTyped(field, asJson(values)[field.name]));

const isNumeric = (kind: Kind): boolean => kind === 'number' || kind === 'integer';

/** Split a list's text into elements: one per line; numbers also by spaces, commas or semicolons. */
function elementsOf(field: Field, value: string): string[] {
  const parts = isNumeric(field.rule.kind) ? value.split(/[\s,;]+/) : value.split('\n');
  return parts.map((line) => line.replace(/\r$/, '')).filter((line) => line.trim() !== '');
}

/** Convert numbers; other text is sent as typed, for the portal to reject. */
function toElement(rule: Rule, text: string): unknown {
  const isNumber = isNumeric(rule.kind) && Number.isFinite(Number(text));
  return isNumber ? Number(text) : text;
}

function toParameter(field: Field, value: TypedValue): unknown {
  if (typeof value === 'boolean') return value;
  if (field.widget === 'list')
    return elementsOf(field, value).map((text) => toElement(field.rule, text));
  if (field.widget === 'choice') return value === '' ? undefined : JSON.parse(value);
  const bare = field.widget === 'text' ? value : value.trim();
  if (bare === '' && field.nullable) return null;
  if (isNumeric(field.rule.kind) && bare === '') return undefined;
  return toElement(field.rule, bare);
}

/** Return the parameters to send, without those of empty fields. */
export function toParameters(fields: readonly Field[], values: Values): Parameters {
  const entries = fields.map((field) => [field.name, toParameter(field, values[field.name] ?? '')]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** Return a range as text, as in "1 to 100000" or "more than 0, at most 10"; empty if unlimited. */
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

function isEmpty(field: Field, value: TypedValue): boolean {
  if (typeof value === 'boolean' || field.widget === 'list') return false;
  if (field.widget === 'choice') return value === '';
  const bare = field.widget === 'text' ? value : value.trim();
  if (bare !== '' || field.nullable) return false;
  return isNumeric(field.rule.kind) || field.defaultValue === undefined;
}

/** Return an error for each required field that is empty; the portal validates the others. */
export function emptyFieldErrors(fields: readonly Field[], values: Values): Record<string, string> {
  const empty = fields.filter((field) => isEmpty(field, values[field.name] ?? ''));
  return Object.fromEntries(empty.map(({ name }) => [name, t`This field is required.`]));
}
