/** The width of each page: the whole screen, or a column. */

const TABLES_LOGS_CHARTS = /^\/(jobs|sessions|files|cluster|benchmarks|admin|groups)(\/|$)/;
const FORMS = /^\/jobs\/new(\/|$)/;

/** Return whether a page has tables, logs or charts; forms and text are easier to read narrow. */
export const isWide = (pathname: string): boolean =>
  TABLES_LOGS_CHARTS.test(pathname) && !FORMS.test(pathname);
