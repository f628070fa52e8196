import { afterEach, expect, test, vi } from 'vitest';
import { focusFirstProblem } from './focus';

const frames: (() => void)[] = [];
let field: { focus: () => void; closest: () => null; scrollIntoView: () => void } | null = null;
const form = { current: { querySelector: () => field } as unknown as HTMLElement };

vi.stubGlobal('window', { requestAnimationFrame: (callback: () => void) => frames.push(callback) });

function draw(count: number): void {
  for (let drawn = 0; drawn < count; drawn++) frames.shift()?.();
}

function invalidField() {
  return { focus: vi.fn<() => void>(), closest: () => null, scrollIntoView: vi.fn<() => void>() };
}

afterEach(() => {
  frames.length = 0;
  field = null;
});

test('focusFirstProblem waits for a problem that is drawn some frames later', () => {
  focusFirstProblem(form);
  draw(20);
  const made = invalidField();
  field = made;
  draw(1);
  expect(made.focus).toHaveBeenCalledOnce();
  expect(frames).toHaveLength(0);
});

test('focusFirstProblem ends where there is no problem', () => {
  focusFirstProblem(form);
  draw(1000);
  expect(frames).toHaveLength(0);
});
