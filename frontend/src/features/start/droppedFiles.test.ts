import { expect, it } from 'vitest';
import { keepDropped, takeDropped } from './droppedFiles';

it('hands dropped files over once', () => {
  expect(takeDropped()).toEqual([]);
  keepDropped([new File([''], 'a.py'), new File([''], 'b.py')]);
  expect(takeDropped().map(({ name }) => name)).toEqual(['a.py', 'b.py']);
  expect(takeDropped()).toEqual([]);
});
