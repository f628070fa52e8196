import type { RefObject } from 'react';

/** Call a function once the latest change is rendered: after a response React may need a frame for
 * that. */
function afterDrawing(callback: () => void): void {
  window.requestAnimationFrame(() => window.requestAnimationFrame(callback));
}

/** The frames to wait for a problem: two seconds, more if frames take longer. */
const MAX_FRAMES = 120;

/** Focus a form's first invalid field and scroll it into view with the message below it. Without
 * one it is the problem that belongs to no field, marked with data-problem. On a busy machine
 * React renders either some frames later. */
export function focusFirstProblem(form: RefObject<HTMLElement | null>): void {
  const focus = (frames: number): void => {
    const field =
      form.current?.querySelector<HTMLElement>('[aria-invalid="true"]') ??
      form.current?.querySelector<HTMLElement>('[data-problem]');
    if (!field && frames > 0) {
      window.requestAnimationFrame(() => focus(frames - 1));
      return;
    }
    field?.focus({ preventScroll: true });
    (field?.closest('.mantine-InputWrapper-root') ?? field)?.scrollIntoView({ block: 'center' });
  };
  afterDrawing(() => focus(MAX_FRAMES));
}

/** Focus the page's heading if nothing has the focus: the focused element may be gone. */
export function focusPageIfLost(): void {
  afterDrawing(() => {
    if (document.activeElement === document.body)
      document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
  });
}

const ABOVE_THE_PAGE = '[role="dialog"],[role="menu"]';

/** Return whether a key belongs to a dialog or menu above the page: one that is open, or that the
 * key has just closed. */
export function isForDialog({ target }: KeyboardEvent): boolean {
  if (target instanceof Element && target.closest(ABOVE_THE_PAGE) !== null) return true;
  return document.querySelector(ABOVE_THE_PAGE) !== null;
}
