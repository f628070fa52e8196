import { afterEach, describe, expect, test, vi } from 'vitest';
import { focusFirstError, keepFocus } from './focus';

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

describe('keepFocus', () => {
  const body = { closest: () => null };
  const button = (inDialog = false) => ({
    focus: vi.fn<() => void>(),
    closest: () => (inDialog ? {} : null),
  });

  /** Run an action during which the focus moves; frames are drawn at once. */
  function act(before: object, after: object): void {
    vi.stubGlobal('window', { requestAnimationFrame: (draw: () => void) => draw() });
    vi.stubGlobal('document', { body, activeElement: before });
    const refocus = keepFocus();
    vi.stubGlobal('document', { body, activeElement: after });
    refocus();
  }

  afterEach(() => vi.unstubAllGlobals());

  test('returns the focus to a button that was disabled by its action', () => {
    const pressed = button();
    act(pressed, body);
    expect(pressed.focus).toHaveBeenCalledOnce();
  });

  test('leaves the focus that has moved elsewhere', () => {
    const pressed = button();
    act(pressed, button());
    expect(pressed.focus).not.toHaveBeenCalled();
  });

  test('leaves it to dialogs', () => {
    const pressed = button(true);
    act(pressed, body);
    expect(pressed.focus).not.toHaveBeenCalled();
  });

  test('does nothing without a focus', () => {
    expect(() => act(body, body)).not.toThrow();
  });
});
