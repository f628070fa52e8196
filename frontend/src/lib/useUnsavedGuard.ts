import { useBlocker } from '@tanstack/react-router';

/**
 * Asks before what is not saved is left behind, on the way to another page and by the browser when
 * the tab is closed. `left`: it was asked, and left all the same. A login that ends asks nothing.
 */
export function useUnsavedGuard(unsaved: boolean, question: string, left: () => void): void {
  useBlocker({
    shouldBlockFn: ({ next }) => {
      if (!unsaved || next.pathname === '/login') return false;
      const stays = !window.confirm(question);
      if (!stays) left();
      return stays;
    },
    enableBeforeUnload: unsaved,
  });
}
