import type { RefObject } from 'react';

/** Puts the focus on a form's first field that is wrong, once its message has been drawn. */
export function focusFirstProblem(form: RefObject<HTMLElement | null>): void {
  window.requestAnimationFrame(() =>
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(),
  );
}
