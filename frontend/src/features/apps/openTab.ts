/** Open a tab that can't access this one; return whether the browser permits it, some seconds after a
 * click. */
export function openTab(url: string): boolean {
  const tab = window.open('about:blank', '_blank');
  if (tab === null) return false;
  tab.opener = null;
  tab.location.replace(url);
  return true;
}
