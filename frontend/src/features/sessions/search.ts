/** What a link to a session's page may ask for. Pure. */

interface SessionSearch {
  /** the question whether to stop the session, for JupyterLab's menu */
  stop?: true;
}

export const readSessionSearch = (search: Record<string, unknown>): SessionSearch =>
  search.stop === true ? { stop: true } : {};
