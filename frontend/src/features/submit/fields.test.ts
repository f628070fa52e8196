import { describe, expect, it } from 'vitest';
import {
  areTyped,
  type Field,
  fieldProblem,
  fieldProblems,
  fieldsOf,
  firstValues,
  rangeText,
  taskCount,
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
  const found = fields.find((f) => f.name === name);
  if (!found) throw new Error(name);
  return found;
};

describe('fieldsOf', () => {
  it('keeps the template’s order and finds the widgets', () => {
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

  it('knows units, and what may be left empty', () => {
    expect(field('epochs').unit).toBe('epochs');
    expect(fields.filter((f) => f.nullable).map((f) => f.name)).toEqual(['precision', 'script']);
  });

  it('makes nothing of a template without parameters', () => {
    expect(fieldsOf({ type: 'object', properties: {} })).toEqual([]);
    expect(fieldsOf({})).toEqual([]);
  });
});

describe('values', () => {
  it('begin with the template’s own and come back as they were', () => {
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

  it('begin with an earlier job’s, whatever signs they hold', () => {
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

  it('leave out what is empty and may not be', () => {
    const values = { ...firstValues(fields), epochs: '', notebook: '' };
    const parameters = toParameters(fields, values);
    expect(parameters).not.toHaveProperty('epochs');
    expect(parameters.notebook).toBe('');
  });

  it('read numbers in a list in any order of commas and lines', () => {
    const values = { ...firstValues(fields), rates: '0.1, 0.2\n1e-3' };
    expect(toParameters(fields, values).rates).toEqual([0.1, 0.2, 0.001]);
  });
});

describe('fieldProblem', () => {
  it.each([
    ['epochs', '20', null],
    ['epochs', '', 'Enter a whole number.'],
    ['epochs', '1.5', 'Enter a whole number.'],
    ['epochs', '101', 'Must be 1 to 100.'],
    ['rate', '0', 'Must be more than 0, at most 10.'],
    ['rate', 'x', 'Enter a number.'],
    ['rates', '', 'Enter at least one value.'],
    ['rates', '1 2 3 4', 'At most 3 values.'],
    ['rates', '1 1.0', 'Enter each value only once.'],
    ['rates', '1 -2', '-2: must be more than 0.'],
    ['script', '', null],
    ['notebook', '', 'This field is required.'],
    ['notebook', 'a.py', 'This value doesn’t have the required format.'],
    ['notebook', '~/a.ipynb', null],
    ['precision', '', 'Choose one.'],
  ])('%s %j: %j', (name, value, expected) => {
    expect(fieldProblem(field(name), value)).toBe(expected);
  });

  it('collects what is wrong by name', () => {
    expect(fieldProblems(fields, firstValues(fields))).toEqual({
      notebook: 'This field is required.',
    });
  });
});

describe('rangeText', () => {
  it('is empty without limits', () => {
    expect(rangeText(field('script').rule)).toBe('');
    expect(rangeText(field('epochs').rule)).toBe('1 to 100');
  });
});

describe('taskCount', () => {
  it('is the product of the lists that are spread', () => {
    expect(taskCount([], {})).toBeNull();
    expect(taskCount(['a', 'b'], { a: [1, 2, 3], b: [4, 5] })).toBe(6);
    expect(taskCount(['a'], {})).toBe(0);
  });
});

describe('areTyped', () => {
  const fields = fieldsOf(SCHEMA);
  const first = firstValues(fields);

  it('takes what the form itself has kept, right or wrong', () => {
    expect(areTyped(fields)(JSON.parse(JSON.stringify(first)))).toBe(true);
    expect(areTyped(fields)({ ...first, epochs: 'many', notebook: '' })).toBe(true);
  });

  it('takes nothing that these fields can’t hold', () => {
    const { epochs: _, ...fewer } = first;
    for (const left of [
      null,
      'text',
      [],
      fewer,
      { ...first, epochs: 7 },
      { ...first, shuffle: 'yes' },
      { ...first, precision: '"fp64"' },
    ])
      expect(areTyped(fields)(left)).toBe(false);
  });
});
