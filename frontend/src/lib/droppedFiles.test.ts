import { expect, it } from 'vitest';
import { notifyLogout } from '@/lib/onLogout';
import { keepDropped, takeDropped } from './droppedFiles';

it('hands dropped files over once', () => {
  expect(takeDropped()).toEqual([]);
  keepDropped([new File([''], 'a.py'), new File([''], 'b.py')]);
  expect(takeDropped().map(({ name }) => name)).toEqual(['a.py', 'b.py']);
  expect(takeDropped()).toEqual([]);
});

it('forgets them with the logout', () => {
  keepDropped([new File([''], 'a.py')]);
  notifyLogout();
  expect(takeDropped()).toEqual([]);
});
