/** The search parameters of a session's pages. Pure. */

interface SessionSearch {
  /** open the dialog that stops the session; for JupyterLab's menu */
  stop?: true;
  /** open the section of the apps; for JupyterLab's launcher */
  apps?: true;
}

export const readSessionSearch = (search: Record<string, unknown>): SessionSearch => ({
  ...(search.stop === true ? { stop: true } : {}),
  ...(search.apps === true ? { apps: true } : {}),
});

interface StartAgainSearch {
  /** ID of the session that is started again once it has ended */
  restart?: string;
}

export const readStartAgainSearch = ({ restart }: Record<string, unknown>): StartAgainSearch =>
  typeof restart === 'string' ? { restart } : {};
