/** Keys that lead somewhere from every page. Pure: what was pressed comes in, what to do goes out. */
import { t } from '@lingui/core/macro';

export type ShortcutAction =
  | { kind: 'page'; href: string }
  | { kind: 'palette' }
  | { kind: 'shortcuts' }
  /** to the page's own search field */
  | { kind: 'search' };

export interface Shortcut {
  /** pressed one after the other */
  keys: readonly string[];
  title: string;
  action: ShortcutAction;
}

const to = (key: string, title: string, href: string): Shortcut => ({
  keys: ['g', key],
  title,
  action: { kind: 'page', href },
});

export const SHORTCUTS: readonly Shortcut[] = [
  { keys: ['?'], title: t`Show these shortcuts`, action: { kind: 'shortcuts' } },
  { keys: ['/'], title: t`To the page's search field`, action: { kind: 'search' } },
  to('h', t`Home`, '/'),
  to('s', t`Start a session`, '/start'),
  to('j', t`Jobs`, '/jobs'),
  to('n', t`Submit a job`, '/jobs/new'),
  to('c', t`Cluster`, '/cluster'),
  to('f', t`Files`, '/files'),
  to('a', t`Your account`, '/account'),
];

/** Within which the second key of two must follow. */
export const TOGETHER_MS = 1500;

export interface Pressed {
  first: string | null;
  atMs: number;
}

export const NOTHING_PRESSED: Pressed = { first: null, atMs: 0 };

/** What a key pressed `atMs` means after those before it. */
export function press(
  before: Pressed,
  key: string,
  atMs: number,
): [Pressed, ShortcutAction | null] {
  const first = before.first !== null && atMs - before.atMs <= TOGETHER_MS ? before.first : null;
  const wanted = first === null ? [key] : [first, key];
  const exact = SHORTCUTS.find(
    ({ keys }) => keys.length === wanted.length && keys.every((k, i) => k === wanted[i]),
  );
  if (exact) return [NOTHING_PRESSED, exact.action];
  const begins = SHORTCUTS.some(({ keys }) => keys.length > 1 && keys[0] === key);
  return [begins ? { first: key, atMs } : NOTHING_PRESSED, null];
}

/** Whether a key is text for what has the focus. `type` is an input's. */
export function isTyping(tag: string, type: string | null, editable: boolean): boolean {
  if (editable || tag === 'TEXTAREA' || tag === 'SELECT') return true;
  return (
    tag === 'INPUT' && !['checkbox', 'radio', 'button', 'submit', 'file'].includes(type ?? 'text')
  );
}
