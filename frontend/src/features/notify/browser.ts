/** Whether this browser shows notifications, and showing one. What was told is remembered in the
 * browser, so that neither another tab nor a reload tells it again. */
import { useSyncExternalStore } from 'react';
import type { News } from './news';

/** `impossible`: this browser, or this address, knows none. `forgetful`: its storage is switched off or
 * full, so that nobody could know who wants to be told, and what of. `refused`: someone has told the
 * browser to allow none here, and only its own settings can change that. */
export type Standing = 'impossible' | 'forgetful' | 'refused' | 'off' | 'on';

const SWITCH = 'portal-notify';
const TOLD = 'portal-told';
const MOST_REMEMBERED = 300;
const listeners = new Set<() => void>();
/** the switch was turned on, and there was no room for it */
let noRoom = false;
/** what this tab has told, where there was no room for it */
let toldHere: readonly string[] = [];

function remembers(): boolean {
  try {
    return window.localStorage !== null;
  } catch {
    return false;
  }
}

/** Whether there was room for it. */
function keep(name: string, value: string): boolean {
  try {
    localStorage.setItem(name, value);
    return true;
  } catch {
    return false;
  }
}

const possible = (): boolean =>
  'Notification' in window && window.isSecureContext && 'locks' in navigator;

const switchOf = (username: string): string => `${SWITCH} ${username}`;

function standing(username: string): Standing {
  if (!possible()) return 'impossible';
  if (!remembers()) return 'forgetful';
  if (Notification.permission === 'denied') return 'refused';
  const on = localStorage.getItem(switchOf(username)) === 'on';
  if (on && Notification.permission === 'granted') return 'on';
  return noRoom ? 'forgetful' : 'off';
}

function changed(): void {
  for (const listener of listeners) listener();
}

/** The browser's own settings may change at any moment; it tells pages that ask. */
async function followPermission(): Promise<PermissionStatus | null> {
  if (!('permissions' in navigator)) return null;
  try {
    return await navigator.permissions.query({ name: 'notifications' });
  } catch {
    return null; // a browser that doesn't know this question: seen at the next page
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener('storage', listener);
  const permission = followPermission();
  void permission.then((status) => status?.addEventListener('change', listener));
  return () => {
    listeners.delete(listener);
    window.removeEventListener('storage', listener);
    void permission.then((status) => status?.removeEventListener('change', listener));
  };
}

/** How it is for this person in this browser, in every tab at once. */
export function useStanding(username: string): Standing {
  const now = (): Standing => standing(username);
  return useSyncExternalStore(subscribe, now, now);
}

/** Asks the browser's permission; only after a click. Whether it is given, and that remembered. */
export async function turnOn(username: string): Promise<boolean> {
  const permission = await Notification.requestPermission();
  const granted = permission === 'granted';
  noRoom = granted && !keep(switchOf(username), 'on');
  changed();
  return granted && !noRoom;
}

export function turnOff(username: string): void {
  localStorage.removeItem(switchOf(username));
  changed();
}

/** Shows it; false where the browser can't (Chrome on Android shows none for a mere page). */
export function show({ key, title, body }: Omit<News, 'to' | 'kind'>, open: () => void): boolean {
  try {
    const shown = new Notification(title, { body, tag: key });
    shown.onclick = () => {
      window.focus();
      shown.close();
      open();
    };
    return true;
  } catch {
    return false;
  }
}

/** Those that this browser hasn't told yet; from now on it has. Where its storage is full, this tab. */
export function untold(news: readonly News[]): News[] {
  if (news.length === 0) return [];
  const told = [...new Set([...readTold(), ...toldHere])];
  const fresh = news.filter(({ key }) => !told.includes(key));
  if (fresh.length > 0) {
    const all = [...told, ...fresh.map(({ key }) => key)].slice(-MOST_REMEMBERED);
    toldHere = keep(TOLD, JSON.stringify(all)) ? [] : all;
  }
  return fresh;
}

function readTold(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(TOLD) ?? '[]');
    return Array.isArray(kept) ? kept.filter((key) => typeof key === 'string') : [];
  } catch {
    return []; // somebody else's text under this name
  }
}
