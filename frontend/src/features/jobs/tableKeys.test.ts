import { describe, expect, it } from 'vitest';
import { singleKeyAction, tableAction } from './tableKeys';

const at = (active: number | null, count = 30) => ({ active, count });
const key = (name: string, shiftKey = false) => ({ key: name, shiftKey });

describe('keys in the table', () => {
  it.each([
    ['ArrowDown', 6],
    ['ArrowUp', 4],
    ['PageDown', 15],
    ['PageUp', 0],
    ['Home', 0],
    ['End', 29],
  ])('%s moves from row 5 to row %i', (name, to) => {
    expect(tableAction(key(name), at(5))).toEqual({ kind: 'move', to, isRange: false });
  });

  it('stay in the table', () => {
    expect(tableAction(key('ArrowDown'), at(29))).toMatchObject({ to: 29 });
    expect(tableAction(key('ArrowDown'), at(null, 0))).toBeNull();
  });

  it('extend the selection with Shift', () => {
    expect(tableAction(key('ArrowDown', true), at(5))).toMatchObject({ to: 6, isRange: true });
  });

  it('leave letters to the page', () => {
    expect(tableAction(key('j'), at(5))).toBeNull();
  });
});

describe('single keys', () => {
  it('move, beginning with the first row', () => {
    expect(singleKeyAction(key('j'), at(null))).toMatchObject({ kind: 'move', to: 0 });
    expect(singleKeyAction(key('k'), at(0))).toMatchObject({ to: 0 });
    expect(singleKeyAction(key('J', true), at(1))).toMatchObject({ to: 2, isRange: true });
  });

  it('select and open the row, if there is one', () => {
    expect(singleKeyAction(key('x'), at(3))).toEqual({ kind: 'select', isRange: false });
    expect(singleKeyAction(key('X', true), at(3))).toEqual({ kind: 'select', isRange: true });
    expect(singleKeyAction(key('Enter'), at(3))).toEqual({ kind: 'open' });
    for (const name of ['x', 'Enter']) expect(singleKeyAction(key(name), at(null))).toBeNull();
  });

  it('leave other keys alone', () => {
    for (const name of ['g', '/', 'Tab', 'ArrowDown', 'toString'])
      expect(singleKeyAction(key(name), at(3))).toBeNull();
  });
});
