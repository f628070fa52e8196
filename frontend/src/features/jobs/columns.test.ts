import { describe, expect, it } from 'vitest';
import type { Job } from '@/api/types';
import {
  allColumns,
  directionOf,
  isSortable,
  orderAfterClick,
  ownColumnIds,
  shownColumns,
  toggledColumn,
} from './columns';
import type { ListOrder } from './search';

const ids = (columns: { id: string }[]): string[] => columns.map(({ id }) => id);

describe('columns', () => {
  it('are the default ones until some are chosen', () => {
    expect(ids(shownColumns(null))).toContain('state');
    expect(ids(shownColumns(null))).not.toContain('memory');
    expect(shownColumns([])).toEqual([]);
  });

  it('keep one order, and leave unknown ones out', () => {
    expect(ids(shownColumns(['node', 'param:lr', 'state', 'from the future']))).toEqual([
      'state',
      'node',
      'param:lr',
    ]);
  });

  it('are added and removed', () => {
    const without = toggledColumn(null, 'node');
    expect(without).not.toContain('node');
    expect(toggledColumn(without, 'node')).toContain('node');
  });

  it('include the parameters of the jobs, and chosen ones that no job has', () => {
    const jobs = [{ parameters: { lr: 1, epochs: 2 } }, { parameters: { lr: 3 } }] as object[];
    const own = ownColumnIds(jobs as Job[]);
    expect(own).toEqual(['param:epochs', 'param:lr']);
    const offered = ids(allColumns(['param:gone', 'param:lr'], own));
    expect(offered.filter((id) => id.startsWith('param:'))).toEqual([
      'param:epochs',
      'param:lr',
      'param:gone',
    ]);
  });

  it('include the last metrics of the jobs, as numbers', () => {
    const jobs = [{ metrics: { loss: 1 } }, { metrics: null }, { metrics: { loss: null } }];
    const own = ownColumnIds(jobs as unknown as Job[]);
    expect(own).toEqual(['metric:loss']);
    expect(allColumns(['metric:gone'], own).slice(-2)).toEqual([
      { id: 'metric:loss', label: 'loss', rem: 8, isNumber: true },
      { id: 'metric:gone', label: 'gone', rem: 8, isNumber: true },
    ]);
  });

  it("do not include names that the portal can't store", () => {
    const job = { parameters: { ['x'.repeat(200)]: 1 }, metrics: { 'a\u202eb': 1 } };
    expect(ownColumnIds([job as unknown as Job])).toEqual([]);
  });
});

describe('sorting', () => {
  it('begins with the usual direction, then turns around', () => {
    const clicked = (id: string, order?: ListOrder) =>
      orderAfterClick(id, order ? { order } : {}).order;
    expect(clicked('name')).toBe('name');
    expect(clicked('name', 'name')).toBe('name_down');
    expect(clicked('ended', 'name_down')).toBe('ended');
    expect(clicked('ended', 'ended')).toBe('ended_up');
    expect(clicked('submitted')).toBe('oldest');
    expect(clicked('submitted', 'oldest')).toBeUndefined();
    expect(clicked('duration', 'name')).toBe('duration');
    expect(clicked('duration', 'duration')).toBe('duration_up');
    expect(clicked('node', 'name')).toBe('name');
  });

  it("is by one column of the jobs' own values", () => {
    const first = orderAfterClick('metric:loss', { order: 'name' });
    expect(first).toEqual({ order: 'value_up', by: 'metric:loss' });
    const second = orderAfterClick('metric:loss', first);
    expect(second).toEqual({ order: 'value', by: 'metric:loss' });
    expect(orderAfterClick('param:lr', second)).toEqual({ order: 'value_up', by: 'param:lr' });
    expect(orderAfterClick('ended', second)).toEqual({ order: 'ended' });
    expect(directionOf('metric:loss', second)).toBe('descending');
    expect(directionOf('param:lr', second)).toBeNull();
    expect(isSortable(`param:${'x'.repeat(200)}`)).toBe(false);
  });

  it('marks one column', () => {
    const marked = (order?: 'oldest' | 'started') =>
      ['name', 'submitted', 'started', 'ended', 'node', 'metric:loss'].flatMap((id) => {
        const direction = directionOf(id, order ? { order } : {});
        return direction === null ? [] : [[id, direction]];
      });
    expect(marked()).toEqual([['submitted', 'descending']]);
    expect(marked('oldest')).toEqual([['submitted', 'ascending']]);
    expect(marked('started')).toEqual([['started', 'descending']]);
  });
});
