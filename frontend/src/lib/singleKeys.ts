/** Shortcuts of single keys: whether they are on, and which events count. */
import { readStored, writeStored } from './storage';

const SINGLE_KEYS = 'portal-single-keys';

/** Return whether single-key shortcuts are on. Speech input produces single keys, so they can be
 * switched off (WCAG 2.1.4). */
export const areSingleKeysOn = (): boolean => readStored(SINGLE_KEYS) !== 'off';

/** Save the setting; return false if the browser's storage is disabled. */
export const setSingleKeys = (enabled: boolean): boolean =>
  writeStored(SINGLE_KEYS, enabled ? null : 'off');

/** Return whether the focused element takes a key as text. `type` is an input's. */
export function isTyping(tag: string, type: string | null, editable: boolean): boolean {
  if (editable || tag === 'TEXTAREA' || tag === 'SELECT') return true;
  return (
    tag === 'INPUT' && !['checkbox', 'radio', 'button', 'submit', 'file'].includes(type ?? 'text')
  );
}

/** Return whether a key is pressed without modifiers, except Shift, and not as text. */
export function isPlainKey(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const target = event.target;
  if (!(target instanceof HTMLElement)) return true;
  return !isTyping(target.tagName, target.getAttribute('type'), target.isContentEditable);
}
