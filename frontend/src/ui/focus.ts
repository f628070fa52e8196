import type { RefObject } from 'react';

/** Puts the focus on a form's first field that is wrong, once its message has been drawn: after an
 * answer from the network React may need a frame for that. */
export function focusFirstProblem(form: RefObject<HTMLElement | null>): void {
  const focus = (): void =>
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  window.requestAnimationFrame(() => window.requestAnimationFrame(focus));
}
