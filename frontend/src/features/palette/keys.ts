/** Shortcuts of every page. Pure: maps pressed keys to actions. */
import { t } from '@lingui/core/macro';

export type ShortcutAction =
  | { kind: 'page'; href: string }
  | { kind: 'palette' }
  | { kind: 'shortcuts' }
  /** focuses the page's search field */
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

/** The second key of a sequence must follow within this time. */
export const TOGETHER_MS = 1500;

export interface Pressed {
  first: string | null;
  atMs: number;
}

export const NOTHING_PRESSED: Pressed = { first: null, atMs: 0 };

/** Return the effect of a key pressed at `atMs`, after the keys before it. */
export function press(
  before: Pressed,
  key: string,
  atMs: number,
): [Pressed, ShortcutAction | null] {
  const first = before.first !== null && atMs - before.atMs <= TOGETHER_MS ? before.first : null;
  const sequence = first === null ? [key] : [first, key];
  const exact = SHORTCUTS.find(
    ({ keys }) => keys.length === sequence.length && keys.every((k, i) => k === sequence[i]),
  );
  if (exact) return [NOTHING_PRESSED, exact.action];
  const begins = SHORTCUTS.some(({ keys }) => keys.length > 1 && keys[0] === key);
  return [begins ? { first: key, atMs } : NOTHING_PRESSED, null];
}
