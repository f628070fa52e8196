import { describe, expect, it } from 'vitest';
import {
  checkViewName,
  currentView,
  renamedView,
  restoredView,
  searchOf,
  toView,
  withoutView,
} from './views';

const failed = toView('failed', { state: 'failed', order: 'ended', group: 'template' }, ['state']);
const every = toView('all', {}, null);
const views = [failed, every];

describe('views', () => {
  it('restore filters, order and grouping', () => {
    expect(searchOf(failed)).toEqual({ state: 'failed', order: 'ended', group: 'template' });
  });

  it('drop what another version wrote', () => {
    const search = { state: 'exploded', q: 'a', colour: 'red' };
    expect(searchOf({ name: 'x', search, columns: null })).toEqual({ q: 'a' });
  });

  it('are recognized, in any order of columns', () => {
    const view = toView('two', { q: 'a' }, ['node', 'state']);
    expect(currentView([...views, view], { q: 'a' }, ['state', 'node'])?.name).toBe('two');
    expect(currentView(views, {}, null)?.name).toBe('all');
    expect(currentView(views, {}, ['state'])).toBeUndefined();
  });

  it('have names of their own', () => {
    expect(checkViewName(views, ' all ')).not.toBeNull();
    expect(checkViewName(views, 'all', 'all')).toBeNull();
    expect(checkViewName(views, 'new')).toBeNull();
  });

  it('are renamed, deleted and put back to their place', () => {
    expect(renamedView(views, 'failed', 'broken').map(({ name }) => name)).toEqual([
      'broken',
      'all',
    ]);
    const rest = withoutView(views, 'failed');
    expect(rest).toEqual([every]);
    expect(restoredView(rest, failed, 0)).toEqual(views);
  });
});
