/** Open a tab that can't access this one; return false if the browser blocks it, as it may some
 * seconds after a click. */
export function openTab(url: string): boolean {
  const tab = window.open('about:blank', '_blank');
  if (tab === null) return false;
  tab.opener = null;
  tab.location.replace(url);
  return true;
}
