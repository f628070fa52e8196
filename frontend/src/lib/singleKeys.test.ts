import { expect, it } from 'vitest';
import { isTyping } from './singleKeys';

it('keys are text while a field is focused', () => {
  expect(isTyping('INPUT', null, false)).toBe(true);
  expect(isTyping('INPUT', 'search', false)).toBe(true);
  expect(isTyping('INPUT', 'checkbox', false)).toBe(false);
  expect(isTyping('SELECT', null, false)).toBe(true);
  expect(isTyping('DIV', null, true)).toBe(true);
  expect(isTyping('BUTTON', null, false)).toBe(false);
});
