/**
 * Stops work that a tab does across pages when the user logs out: the next user may be another one,
 * and a request would carry their cookie.
 */
const listeners = new Set<() => void>();

/** Registers a callback for the logout in this tab. Returns a function that removes it. */
export function onLogout(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function notifyLogout(): void {
  for (const listener of listeners) listener();
}
