/** Tells this browser's other tabs of a log-out, so that none goes on showing what isn't theirs to show. */
const CHANNEL = 'portal-login';
const LOGGED_OUT = 'logged-out';

const channel = 'BroadcastChannel' in window ? new BroadcastChannel(CHANNEL) : null;

export function tellLogout(): void {
  channel?.postMessage(LOGGED_OUT);
}

/** Called when another tab has logged out. */
export function onLogoutElsewhere(listener: () => void): void {
  channel?.addEventListener('message', ({ data }) => {
    if (data === LOGGED_OUT) listener();
  });
}
