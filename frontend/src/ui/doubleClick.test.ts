import { expect, test, vi } from 'vitest';
import { exceptDoubleClick } from './doubleClick';

test.each([
  ['a click', [1], 1],
  ['a double click', [1, 2], 1],
  ['a triple click', [1, 2, 3], 1],
  ['two clicks with a pause', [1, 1], 2],
  ['a key', [0], 1],
  ['a key that is held', [0, 0], 2],
])('exceptDoubleClick on %s', (_, details, calls) => {
  const act = vi.fn<() => void>();
  const onClick = exceptDoubleClick(act);
  for (const detail of details) onClick({ detail });
  expect(act).toHaveBeenCalledTimes(calls);
});
