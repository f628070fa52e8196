import { type RefObject, useEffect, useReducer } from 'react';

/** Call a function once the latest change is rendered: after a response React may need a frame for
 * that. */
function afterDrawing(callback: () => void): void {
  window.requestAnimationFrame(() => window.requestAnimationFrame(callback));
}

/** Focus a form's first invalid field and scroll it into view with the message below it. Without
 * one it is the problem that belongs to no field, marked with data-problem. */
export function focusFirstError(form: HTMLElement | null): void {
  const field =
    form?.querySelector<HTMLElement>('[aria-invalid="true"]') ??
    form?.querySelector<HTMLElement>('[data-problem]');
  field?.focus({ preventScroll: true });
  (field?.closest('.mantine-InputWrapper-root') ?? field)?.scrollIntoView({ block: 'center' });
}

/** Return a function that focuses a form's first error. It waits for the render that contains the
 * changes made together with the call; before that, an earlier problem may still be visible. */
export function useFocusError(form: RefObject<HTMLElement | null>): () => void {
  const [calls, focusError] = useReducer((before: number) => before + 1, 0);
  useEffect(() => {
    if (calls > 0) focusFirstError(form.current);
  }, [calls, form]);
  return focusError;
}

/** Focus the page's heading if nothing has the focus: the focused element may be gone. */
export function focusPageIfLost(): void {
  afterDrawing(() => {
    if (document.activeElement === document.body)
      document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
  });
}

const ABOVE_THE_PAGE = '[role="dialog"],[role="menu"]';

/** Return a function that focuses the present element again if nothing has the focus then: a button
 * that is disabled while it works loses it. Dialogs and menus return it by themselves. */
export function keepFocus(): () => void {
  const element = document.activeElement as HTMLElement | null;
  const kept = element === document.body || element?.closest(ABOVE_THE_PAGE) ? null : element;
  return () =>
    afterDrawing(() => {
      if (document.activeElement === document.body) kept?.focus({ preventScroll: true });
    });
}

/** Return whether a key closes the part of the page that it was pressed in. One key closes one layer:
 * dialogs, menus and popups above that part close themselves. */
export const closesPanel = (event: KeyboardEvent): boolean =>
  event.key === 'Escape' && !event.defaultPrevented && !event.isComposing && !isForDialog(event);

/** Return whether a key belongs to a dialog or menu above the page: one that is open, or that the
 * key has just closed. */
export function isForDialog({ target }: KeyboardEvent): boolean {
  if (target instanceof Element && target.closest(ABOVE_THE_PAGE) !== null) return true;
  return document.querySelector(ABOVE_THE_PAGE) !== null;
}
