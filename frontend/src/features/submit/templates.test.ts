import { describe, expect, it } from 'vitest';
import type { Template } from '@/api/types';
import { templates } from '@/testing/answers/templates';
import { groupByCategory, groupTemplates } from './templates';

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
