import { useEffect } from 'react';

const POPUP = '[role="menu"],[role="dialog"]';

/** Return the focus to where it was before this popup, unless something else has taken it. */
export function useReturnedFocus(): void {
  useEffect(() => {
    const before = document.activeElement;
    return () => {
      const now = document.activeElement;
      const isFree = now === null || now === document.body || now.closest(POPUP) !== null;
      if (isFree && before instanceof HTMLElement) before.focus({ preventScroll: true });
    };
  }, []);
}
