// Sets the colour scheme before the first paint, so that a dark page never flashes white.
// A file of its own because the portal's content security policy allows no inline scripts.
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
