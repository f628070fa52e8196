import { useBlocker } from '@tanstack/react-router';

/**
 * Ask before unsaved input is discarded, by navigation to another page or by closing the tab.
 * `onLeave` is called after the user confirmed. The redirect to the login page does not ask.
 */
export function useUnsavedGuard(unsaved: boolean, question: string, onLeave: () => void): void {
  useBlocker({
    shouldBlockFn: ({ next }) => {
      if (!unsaved || next.pathname === '/login') return false;
      const stays = !window.confirm(question);
      if (!stays) onLeave();
      return stays;
    },
    enableBeforeUnload: unsaved,
  });
}
