import { describe, expect, it } from 'vitest';
import type { Environment, TemplateDetail } from '@/api/types';
import { notebookSearch } from '@/features/sessions/notebookLink';
import { choicesOf, firstChoice } from './environments';
import { readSubmitLink } from './link';

describe('readSubmitLink', () => {
  it('returns values that fields can have', () => {
    const parameters = {
      notebook: '~/a.ipynb',
      count: 5,
      quick: true,
      list: ['a=1', 2],
      none: null,
    };
    expect(readSubmitLink({ environment: 'r', parameters, own: true })).toEqual({
      environment: 'r',
      parameters,
    });
  });

  it('drops everything else', () => {
    expect(readSubmitLink({})).toEqual({});
    expect(readSubmitLink({ environment: 5, parameters: 'notebook' })).toEqual({});
    expect(readSubmitLink({ environment: 'x'.repeat(101), parameters: ['a'] })).toEqual({});
    const parameters = { deep: { a: 1 }, nested: [['a']], good: 'x' };
    expect(readSubmitLink({ parameters })).toEqual({ parameters: { good: 'x' } });
  });

  it("reads the parameters of a notebook's link", () => {
    const search = notebookSearch({ path: '~/a b.ipynb', environment: 'r' });
    expect(search.template).toBe('notebook');
    expect(readSubmitLink(JSON.parse(JSON.stringify(search)))).toEqual({
      environment: 'r',
      parameters: { notebook: '~/a b.ipynb' },
    });
    expect(notebookSearch({ path: 'x', environment: null })).not.toHaveProperty('environment');
  });
});

describe('the environments of a template', () => {
  const known = (name: string, kernel: boolean, available = true) =>
    ({ name, title: name, kernel, available }) as Environment;
  const all = [known('python3', true), known('r', true), known('torch7', false)];
  const template = { environment: 'python3', environments: 'kernel' } as TemplateDetail;

  it('are those with a kernel, where one may choose', () => {
    const names = (some: Environment[]) => choicesOf(template, some, null).map((e) => e.name);
    expect(names(all)).toEqual(['python3', 'r']);
    expect(names([known('python3', true, false), known('r', true)])).toEqual(['r']);
    expect(choicesOf({ ...template, environments: null }, all, null)).toEqual([]);
  });

  it("keep an earlier job's, though it is gone", () => {
    const gone = [known('python3', true), known('r', true, false)];
    expect(choicesOf(template, gone, 'r').map((e) => e.name)).toEqual(['python3', 'r']);
  });

  it("begin with the requested one, then the template's own, then any", () => {
    const choices = choicesOf(template, all, null);
    expect(firstChoice(template, choices, ['r'])).toBe('r');
    expect(firstChoice(template, choices, [undefined, 'torch7'])).toBe('python3');
    expect(firstChoice(template, [known('r', true)], [])).toBe('r');
    expect(firstChoice(template, [], [])).toBe('python3');
  });
});
