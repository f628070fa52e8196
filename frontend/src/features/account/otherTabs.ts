/** What this browser's tabs tell each other of logins, for they share one: so that none goes on showing
 * what isn't its reader's, and one login serves all. */
const CHANNEL = 'portal-login';

export type LoginNews =
  | { kind: 'logged-out' }
  /** a request found that the login has ended */
  | { kind: 'ended' }
  | { kind: 'logged-in'; username: string };

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
