/** Browser notifications: permission, setting and display. Shown notifications are recorded in the
 * browser's storage, so neither another tab nor a reload repeats them. */
import { useSyncExternalStore } from 'react';
import { readStored, writeStored } from '@/lib/storage';
import type { UserNotification } from './notifications';

/** `impossible`: this browser or address has no notifications. `forgetful`: its storage is off or
 * full, so choices and shown notifications cannot be saved. `refused`: the user has blocked them in
 * the browser, and only its own settings can change that. */
export type NotifyState = 'impossible' | 'forgetful' | 'refused' | 'off' | 'on';

const SWITCH_KEY = 'portal-notify';
const SHOWN_KEY = 'portal-notified';
const MAX_REMEMBERED = 300;
const listeners = new Set<() => void>();
/** the setting could not be stored, as storage was full */
let noRoom = false;
/** keys shown by this tab, if storage is full */
let shownHere: readonly string[] = [];

function remembers(): boolean {
  try {
    return window.localStorage !== null;
  } catch {
    return false;
  }
}

const possible = (): boolean =>
  'Notification' in window && window.isSecureContext && 'locks' in navigator;

const switchOf = (username: string): string => `${SWITCH_KEY} ${username}`;

function notifyState(username: string): NotifyState {
  if (!possible()) return 'impossible';
  if (!remembers()) return 'forgetful';
  if (Notification.permission === 'denied') return 'refused';
  const on = readStored(switchOf(username)) === 'on';
  if (on && Notification.permission === 'granted') return 'on';
  return noRoom ? 'forgetful' : 'off';
}

function changed(): void {
  for (const listener of listeners) listener();
}

/** Watch the browser's permission, which may change at any time; the Permissions API reports
 * changes. */
async function followPermission(): Promise<PermissionStatus | null> {
  if (!('permissions' in navigator)) return null;
  try {
    return await navigator.permissions.query({ name: 'notifications' });
  } catch {
    return null; // an unsupported query: changes show on the next page
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

/** The state for this user in this browser, shared by all tabs. */
export function useNotifyState(username: string): NotifyState {
  const now = (): NotifyState => notifyState(username);
  return useSyncExternalStore(subscribe, now, now);
}

/** Ask for the browser's permission, only after a click. Returns whether it was granted and stored. */
export async function turnOn(username: string): Promise<boolean> {
  const permission = await Notification.requestPermission();
  const granted = permission === 'granted';
  noRoom = granted && !writeStored(switchOf(username), 'on');
  changed();
  return granted && !noRoom;
}

export function turnOff(username: string): void {
  writeStored(switchOf(username), null);
  changed();
}

/** Show a notification; return false if the browser cannot (Chrome on Android needs a service
 * worker). */
export function showNotification(
  { key, title, body }: Omit<UserNotification, 'to' | 'kind'>,
  open: () => void,
): boolean {
  try {
    const notification = new Notification(title, { body, tag: key });
    notification.onclick = () => {
      window.focus();
      notification.close();
      open();
    };
    return true;
  } catch {
    return false;
  }
}

/**
 * Return the notifications that this browser has not shown yet and record them as shown. If storage
 * is full, only this tab remembers.
 */
export function filterUnshown(news: readonly UserNotification[]): UserNotification[] {
  if (news.length === 0) return [];
  const shownKeys = [...new Set([...readShown(), ...shownHere])];
  const fresh = news.filter(({ key }) => !shownKeys.includes(key));
  if (fresh.length > 0) {
    const all = [...shownKeys, ...fresh.map(({ key }) => key)].slice(-MAX_REMEMBERED);
    shownHere = writeStored(SHOWN_KEY, JSON.stringify(all)) ? [] : all;
  }
  return fresh;
}

function readShown(): string[] {
  try {
    const stored: unknown = JSON.parse(readStored(SHOWN_KEY) ?? '[]');
    return Array.isArray(stored) ? stored.filter((key) => typeof key === 'string') : [];
  } catch {
    return []; // an invalid value
  }
}
