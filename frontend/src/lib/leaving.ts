/** Whatever a tab goes on doing for a person wherever they look is let go when they leave it: whoever
 * comes next may be somebody else, and a request would be made with the next one's cookie. */
const listeners = new Set<() => void>();

/** Called when the person leaves this tab. Returns what ends it. */
export function onPersonLeaves(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function personLeaves(): void {
  for (const listener of listeners) listener();
}
