/** What this browser's tabs tell each other of logins, for they share one: so that none goes on showing
 * what isn't its reader's, and one login serves all. */
import type { LoggedIn } from '@/api/types';

const CHANNEL = 'portal-login';

export type LoginNews =
  | { kind: 'logged-out' }
  /** the login has ended: a request found it out, or another one has begun in its place */
  | { kind: 'ended' }
  | { kind: 'logged-in'; username: string };

/** What the answer to a login means for the other tabs. A login that isn't whole yet already took the
 * place of the one before. */
export function newsOf(found: LoggedIn): LoginNews {
  const whole = found.second_factor === 'none' && !found.password_change_required;
  return whole ? { kind: 'logged-in', username: found.username } : { kind: 'ended' };
}

const channel = 'BroadcastChannel' in window ? new BroadcastChannel(CHANNEL) : null;

export function tellTabs(news: LoginNews): void {
  channel?.postMessage(news);
}

/** Called with what another tab tells. Returns what ends it. */
export function onOtherTabs(listener: (news: LoginNews) => void): () => void {
  const heard = ({ data }: MessageEvent<LoginNews>): void => listener(data);
  channel?.addEventListener('message', heard);
  return () => channel?.removeEventListener('message', heard);
}
