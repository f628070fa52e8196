/**
 * Synchronizes logins between the tabs of this browser, which share one: no tab keeps showing
 * another user's data, and one login serves all tabs.
 */
import type { LoggedIn } from '@/api/types';

const CHANNEL = 'portal-login';

export type LoginEvent =
  | { kind: 'logged-out' }
  /** the login has ended: a request was refused, or another login has replaced it */
  | { kind: 'ended' }
  | { kind: 'logged-in'; username: string };

/** Convert a login's response to an event for other tabs. An incomplete login has already replaced
 * the previous one. */
export function toLoginEvent(login: LoggedIn): LoginEvent {
  const complete = login.second_factor === 'none' && !login.password_change_required;
  return complete ? { kind: 'logged-in', username: login.username } : { kind: 'ended' };
}

const channel = 'BroadcastChannel' in window ? new BroadcastChannel(CHANNEL) : null;

export function broadcastLoginEvent(event: LoginEvent): void {
  channel?.postMessage(event);
}

/** Register a listener for events of other tabs. Returns a function that unregisters it. */
export function onLoginEventFromOtherTabs(listener: (event: LoginEvent) => void): () => void {
  const onMessage = ({ data }: MessageEvent<LoginEvent>): void => listener(data);
  channel?.addEventListener('message', onMessage);
  return () => channel?.removeEventListener('message', onMessage);
}
