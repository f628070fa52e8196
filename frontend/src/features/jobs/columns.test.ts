import { describe, expect, it } from 'vitest';
import type { Job } from '@/api/types';
import {
  allColumns,
  directionOf,
  orderAfterClick,
  ownColumnIds,
  shownColumns,
  toggledColumn,
} from './columns';

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

  it('do not include names that the portal can’t store', () => {
    const job = { parameters: { ['x'.repeat(200)]: 1 }, metrics: { 'a\u202eb': 1 } };
    expect(ownColumnIds([job as unknown as Job])).toEqual([]);
  });
});

describe('sorting', () => {
  it('begins with the usual direction, then turns around', () => {
    expect(orderAfterClick('name', undefined)).toBe('name');
    expect(orderAfterClick('name', 'name')).toBe('name_down');
    expect(orderAfterClick('ended', 'name_down')).toBe('ended');
    expect(orderAfterClick('ended', 'ended')).toBe('ended_up');
    expect(orderAfterClick('submitted', undefined)).toBe('oldest');
    expect(orderAfterClick('submitted', 'oldest')).toBeUndefined();
    expect(orderAfterClick('duration', 'name')).toBe('duration');
    expect(orderAfterClick('duration', 'duration')).toBe('duration_up');
    expect(orderAfterClick('node', 'name')).toBe('name');
  });

  it('marks one column', () => {
    const marked = (order?: 'oldest' | 'started') =>
      ['name', 'submitted', 'started', 'ended', 'node'].flatMap((id) => {
        const direction = directionOf(id, order);
        return direction === null ? [] : [[id, direction]];
      });
    expect(marked()).toEqual([['submitted', 'descending']]);
    expect(marked('oldest')).toEqual([['submitted', 'ascending']]);
    expect(marked('started')).toEqual([['started', 'descending']]);
  });
});
