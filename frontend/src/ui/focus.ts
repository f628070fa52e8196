import type { RefObject } from 'react';

/** Does it once what has just changed is drawn: after an answer from the network React may need a
 * frame for that. */
function afterDrawing(act: () => void): void {
  window.requestAnimationFrame(() => window.requestAnimationFrame(act));
}

/** The frames for which a problem is awaited: two seconds, more where frames take longer. */
const MAX_FRAMES = 120;

/** Puts the focus on a form's first invalid field and brings it into view with the sentence below it.
 * Without one it is the problem that is no field's, marked with data-problem. On a busy machine React
 * draws either some frames later. */
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

/** Gives the focus to the page's heading if nothing has it: what had it may be gone. */
export function focusPageIfLost(): void {
  afterDrawing(() => {
    if (document.activeElement === document.body)
      document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
  });
}

const ABOVE_THE_PAGE = '[role="dialog"],[role="menu"]';

/** Whether a key is for a dialog or a menu above the page: one that is open, or the one that it has
 * just closed. */
export function isForDialog({ target }: KeyboardEvent): boolean {
  if (target instanceof Element && target.closest(ABOVE_THE_PAGE) !== null) return true;
  return document.querySelector(ABOVE_THE_PAGE) !== null;
}
