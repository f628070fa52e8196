import { describe, expect, it } from 'vitest';
import {
  areTyped,
  emptyFieldErrors,
  type Field,
  fieldsOf,
  firstValues,
  rangeText,
  toParameters,
} from './fields';

const SCHEMA = {
  type: 'object',
  properties: {
    script: {
      type: ['string', 'null'],
      title: 'Script',
      'x-widget': 'path',
      'x-order': 5,
      default: null,
    },
    epochs: {
      type: 'integer',
      title: 'Epochs',
      minimum: 1,
      maximum: 100,
      default: 20,
      'x-unit': 'epochs',
      'x-order': 0,
    },
    rate: {
      type: 'number',
      title: 'Rate',
      exclusiveMinimum: 0,
      maximum: 10,
      default: 0.1,
      'x-order': 1,
    },
    rates: {
      type: 'array',
      title: 'Rates',
      items: { type: 'number', exclusiveMinimum: 0 },
      minItems: 1,
      maxItems: 3,
      uniqueItems: true,
      default: [0.01, 0.1],
      'x-order': 2,
    },
    precision: {
      type: ['string', 'null'],
      title: 'Precision',
      enum: ['fp32', 'fp16', null],
      default: 'fp32',
      'x-order': 3,
    },
    shuffle: { type: 'boolean', title: 'Shuffle', default: true, 'x-order': 4 },
    notebook: {
      type: 'string',
      title: 'Notebook',
      pattern: '\\.ipynb$',
      'x-widget': 'path',
      'x-order': 6,
    },
    words: { type: 'array', title: 'Words', items: { type: 'string' }, default: [], 'x-order': 7 },
  },
};

const fields = fieldsOf(SCHEMA);
const field = (name: string): Field => {
  const match = fields.find((f) => f.name === name);
  if (!match) throw new Error(name);
  return match;
};

describe('fieldsOf', () => {
  it("returns the template's order and the widgets", () => {
    expect(fields.map((f) => [f.name, f.widget])).toEqual([
      ['epochs', 'number'],
      ['rate', 'number'],
      ['rates', 'list'],
      ['precision', 'choice'],
      ['shuffle', 'flag'],
      ['script', 'path'],
      ['notebook', 'path'],
      ['words', 'list'],
    ]);
  });

  it('reads units and whether a field may be empty', () => {
    expect(field('epochs').unit).toBe('epochs');
    expect(fields.filter((f) => f.nullable).map((f) => f.name)).toEqual(['precision', 'script']);
  });

  it('is empty for a template without parameters', () => {
    expect(fieldsOf({ type: 'object', properties: {} })).toEqual([]);
    expect(fieldsOf({})).toEqual([]);
  });
});

describe('values', () => {
  it("are the template's defaults and convert back unchanged", () => {
    const values = firstValues(fields, { notebook: '~/a b.ipynb' });
    expect(toParameters(fields, values)).toEqual({
      epochs: 20,
      rate: 0.1,
      rates: [0.01, 0.1],
      precision: 'fp32',
      shuffle: true,
      script: null,
      notebook: '~/a b.ipynb',
      words: [],
    });
  });

  it("are an earlier job's, with any characters", () => {
    const earlier = {
      epochs: 3,
      precision: null,
      shuffle: false,
      script: '~/it\'s "$(here)".py',
      words: ['--a=b c', "'; rm -rf ~", 'ü'],
    };
    const values = firstValues(fields, { ...earlier, gone: 1 });
    expect(toParameters(fields, values)).toMatchObject(earlier);
    expect(toParameters(fields, values)).not.toHaveProperty('gone');
  });

  it('take no property of all objects for a given parameter', () => {
    const schema = { properties: { constructor: { type: 'string', default: 'a' } } };
    expect(firstValues(fieldsOf(schema))).toEqual({ constructor: 'a' });
  });

  it('omit required fields that are empty', () => {
    const values = { ...firstValues(fields), epochs: '', notebook: '' };
    const parameters = toParameters(fields, values);
    expect(parameters).not.toHaveProperty('epochs');
    expect(parameters.notebook).toBe('');
  });

  it('split a list of numbers at commas and line breaks', () => {
    const values = { ...firstValues(fields), rates: '0.1, 0.2\n1e-3' };
    expect(toParameters(fields, values).rates).toEqual([0.1, 0.2, 0.001]);
  });

  it('keep text that is no number, for the portal to refuse', () => {
    const values = { ...firstValues(fields), rates: '0.1 x', rate: 'much' };
    expect(toParameters(fields, values)).toMatchObject({ rates: [0.1, 'x'], rate: 'much' });
  });
});

describe('emptyFieldErrors', () => {
  it('has required fields that are empty, and no other errors', () => {
    const required = { notebook: 'This field is required.' };
    expect(emptyFieldErrors(fields, firstValues(fields))).toEqual(required);
    const invalid = { epochs: '101', rates: '', script: '', notebook: 'a.py' };
    expect(emptyFieldErrors(fields, { ...firstValues(fields), ...invalid })).toEqual({});
    const empty = { epochs: '', rate: ' ', precision: '' };
    expect(Object.keys(emptyFieldErrors(fields, { ...firstValues(fields), ...empty }))).toEqual([
      'epochs',
      'rate',
      'precision',
      'notebook',
    ]);
  });
});

describe('rangeText', () => {
  it('is empty without limits', () => {
    expect(rangeText(field('script').rule)).toBe('');
    expect(rangeText(field('epochs').rule)).toBe('1 to 100');
  });
});

describe('areTyped', () => {
  const fields = fieldsOf(SCHEMA);
  const first = firstValues(fields);

  it('accepts values that the form has stored, valid or not', () => {
    expect(areTyped(fields)(JSON.parse(JSON.stringify(first)))).toBe(true);
    expect(areTyped(fields)({ ...first, epochs: 'many', notebook: '' })).toBe(true);
  });

  it('rejects values that do not fit the fields', () => {
    const { epochs: _, ...fewer } = first;
    for (const values of [
      null,
      'text',
      [],
      fewer,
      { ...first, epochs: 7 },
      { ...first, shuffle: 'yes' },
      { ...first, precision: '"fp64"' },
    ])
      expect(areTyped(fields)(values)).toBe(false);
  });
});
