/**
 * Synchronizes logins between the tabs of this browser, which share one: no tab keeps showing
 * another user's data, and one login serves all tabs.
 */
import type { LoggedIn } from '@/api/types';

const CHANNEL = 'portal-login';

export type LoginEvent =
  | { kind: 'logged-out' }
  /** the login has ended: a request found it out, or another one has begun in its place */
  | { kind: 'ended' }
  | { kind: 'logged-in'; username: string };

/** What the answer to a login means for the other tabs. A login that isn't whole yet already took the
 * place of the one before. */
export function toLoginEvent(found: LoggedIn): LoginEvent {
  const whole = found.second_factor === 'none' && !found.password_change_required;
  return whole ? { kind: 'logged-in', username: found.username } : { kind: 'ended' };
}

const channel = 'BroadcastChannel' in window ? new BroadcastChannel(CHANNEL) : null;

export function broadcastLogin(news: LoginEvent): void {
  channel?.postMessage(news);
}

/** Called with each event of another tab. Returns a function that unsubscribes. */
export function onOtherTabs(listener: (news: LoginEvent) => void): () => void {
  const onMessage = ({ data }: MessageEvent<LoginEvent>): void => listener(data);
  channel?.addEventListener('message', onMessage);
  return () => channel?.removeEventListener('message', onMessage);
}
