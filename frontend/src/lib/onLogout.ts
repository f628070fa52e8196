/**
 * Callbacks that stop a tab's work across pages when the user logs out: the next user may be
 * someone else, and a request would carry their cookie.
 */
const listeners = new Set<() => void>();

/** Register a callback for the logout in this tab. Returns a function that unregisters it. */
export function onLogout(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function notifyLogout(): void {
  for (const listener of listeners) listener();
}
