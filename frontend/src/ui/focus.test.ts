import { afterEach, describe, expect, test, vi } from 'vitest';
import { closesPanel, focusFirstError, keepFocus } from './focus';

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

test('focusFirstError prefers an invalid field to a problem of the whole form', () => {
  const general = add('[data-problem]');
  const field = add('[aria-invalid="true"]');
  focusFirstError(form);
  expect(field.focus).toHaveBeenCalledOnce();
  expect(field.scrollIntoView).toHaveBeenCalledOnce();
  expect(general.focus).not.toHaveBeenCalled();
});

test('focusFirstError shows a problem that belongs to no field', () => {
  const general = add('[data-problem]');
  focusFirstError(form);
  expect(general.focus).toHaveBeenCalledOnce();
  expect(general.scrollIntoView).toHaveBeenCalledOnce();
});

test('focusFirstError does nothing where there is no problem', () => {
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

describe('closesPanel', () => {
  class FakeElement {
    constructor(private readonly above: boolean) {}
    closest = () => (this.above ? this : null);
  }

  function press(key: string, where: { inDialog?: boolean; dialogOpen?: boolean } = {}): boolean {
    const { inDialog = false, dialogOpen = false } = where;
    vi.stubGlobal('Element', FakeElement);
    vi.stubGlobal('document', { querySelector: () => (dialogOpen ? {} : null) });
    const target = new FakeElement(inDialog);
    return closesPanel({ key, target, defaultPrevented: false, isComposing: false } as never);
  }

  afterEach(() => vi.unstubAllGlobals());

  test('is true of Escape in the panel', () => {
    expect(press('Escape')).toBe(true);
    expect(press('Enter')).toBe(false);
  });

  test('leaves Escape to a dialog that is open', () => {
    expect(press('Escape', { inDialog: true, dialogOpen: true })).toBe(false);
    expect(press('Escape', { dialogOpen: true })).toBe(false);
  });

  test('leaves Escape to the dialog that it has just closed and removed', () => {
    expect(press('Escape', { inDialog: true })).toBe(false);
  });

  test('leaves Escape to the input method and to what has handled it', () => {
    vi.stubGlobal('Element', FakeElement);
    vi.stubGlobal('document', { querySelector: () => null });
    const event = { key: 'Escape', target: new FakeElement(false) };
    expect(closesPanel({ ...event, isComposing: true } as never)).toBe(false);
    expect(closesPanel({ ...event, defaultPrevented: true } as never)).toBe(false);
  });
});
