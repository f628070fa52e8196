import { describe, expect, it } from 'vitest';
import type { Template } from '@/api/types';
import { templates } from '@/testing/answers/templates';
import { findTemplates, groupByCategory, groupTemplates } from './templates';

const all: Template[] = templates.items;
const outline = (groups: ReturnType<typeof groupTemplates>): string[] =>
  groups.map(({ title, templates: items }) => `${title}: ${items.map(({ name }) => name)}`);

describe('the groups of templates', () => {
  it('are the categories, without empty ones', () => {
    expect(outline(groupTemplates(all, []))).toEqual([
      'Train: python-training',
      'Sweep: hyperparameter-array',
      'Inference: batch-inference',
    ]);
  });

  it('begin with the recently used ones, which are not repeated', () => {
    expect(outline(groupTemplates(all, ['batch-inference', 'gone', 'python-training']))).toEqual([
      'Recently used: batch-inference,python-training',
      'Sweep: hyperparameter-array',
    ]);
  });

  it('have all templates of a category', () => {
    expect(groupByCategory(all).flatMap((group) => group.templates)).toHaveLength(all.length);
  });
});

describe('findTemplates', () => {
  const template = (name: string, tags: string[], available = true) =>
    ({ name, title: name, description: '', framework: 'PyTorch', tags, available }) as Template;
  const all = [
    template('bench', ['benchmark']),
    template('gone', ['example'], false),
    template('train', ['training']),
    template('first', ['example', 'training']),
    template('notebook', []),
  ];
  const names = (text: string) => findTemplates(all, text).map((t) => t.name);

  it('begins with examples and ends with unavailable templates', () => {
    expect(names('')).toEqual(['first', 'train', 'notebook', 'bench', 'gone']);
  });

  it('needs every word', () => {
    expect(names('pytorch TRAIN')).toEqual(['first', 'train']);
    expect(names('nothing')).toEqual([]);
  });
});
