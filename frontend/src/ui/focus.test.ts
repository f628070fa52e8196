import { afterEach, expect, test, vi } from 'vitest';
import { focusFirstError } from './focus';

const elements = new Map<string, object>();
const form = {
  querySelector: (selector: string) => elements.get(selector) ?? null,
} as unknown as HTMLElement;

function add(selector: string) {
  const element = {
    focus: vi.fn<() => void>(),
    closest: () => null,
    scrollIntoView: vi.fn<() => void>(),
  };
  elements.set(selector, element);
  return element;
}

afterEach(() => elements.clear());

test('focusFirstProblem prefers an invalid field to a problem of the whole form', () => {
  const general = add('[data-problem]');
  const field = add('[aria-invalid="true"]');
  focusFirstError(form);
  expect(field.focus).toHaveBeenCalledOnce();
  expect(field.scrollIntoView).toHaveBeenCalledOnce();
  expect(general.focus).not.toHaveBeenCalled();
});

test('focusFirstProblem shows a problem that belongs to no field', () => {
  const general = add('[data-problem]');
  focusFirstError(form);
  expect(general.focus).toHaveBeenCalledOnce();
  expect(general.scrollIntoView).toHaveBeenCalledOnce();
});

test('focusFirstProblem does nothing where there is no problem', () => {
  focusFirstError(form);
  focusFirstError(null);
  expect(elements.size).toBe(0);
});
