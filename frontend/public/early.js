// Runs before anything is painted or fetched. A file of its own because the portal's content security
// policy allows no inline scripts.

// Sets the color scheme, so that a dark page never flashes white.
(() => {
  let chosen = null;
  try {
    chosen = window.localStorage.getItem('mantine-color-scheme-value');
  } catch {
    // storage is switched off: follow the system
  }
  const dark =
    chosen === 'dark' ||
    (chosen !== 'light' && window.matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.setAttribute('data-mantine-color-scheme', dark ? 'dark' : 'light');
})();

// Asks for what every page behind the login waits for (src/app/routes/frame.ts), while the scripts are
// on their way.
(() => {
  if (/^\/(login|second-factor)$/.test(window.location.pathname)) return;
  for (const href of ['/api/v1/me', '/api/v1/events/snapshot']) {
    const link = document.createElement('link');
    // as the pages' own requests: fetch() with the credentials of the same origin
    Object.assign(link, { rel: 'preload', as: 'fetch', crossOrigin: 'anonymous', href });
    document.head.append(link);
  }
})();
