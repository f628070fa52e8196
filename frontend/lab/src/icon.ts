/** The icons of the panel and of TensorBoard's tab, in JupyterLab's format: it colors class jp-icon3. */
import type { Shared } from './jupyter';

const svg = (path: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><path class="jp-icon3" fill="#616161" d="${path}"/></svg>`;

const ICONS = {
  panel: 'M3 3h2v16h16v2H3zm4 11 4-5 3 3 5-7 1.6 1.2L14.2 15l-3-3-2.6 3.3z',
  app: 'M3 4h18v16H3zm2 5v9h14V9zm1-3.5v2h2v-2zm3.5 0v2h2v-2z',
  tensorboard: 'M4 20v-8h4v8zm6 0V4h4v16zm6 0v-12h4v12z',
};

/** Return an icon, undefined in a JupyterLab without them. */
export function makeIcon(
  ui: Shared['@jupyterlab/ui-components'] | undefined,
  name: keyof typeof ICONS,
): unknown {
  const LabIcon = ui?.LabIcon;
  return (
    LabIcon && new LabIcon({ name: `data-scientist-portal:${name}`, svgstr: svg(ICONS[name]) })
  );
}
