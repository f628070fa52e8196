/** The icons of the panel, of TensorBoard's tab and of apps, in JupyterLab's format: it colors class
 * jp-icon3. */
import { initialsOf, logoOf } from '@/ui/logos';
import type { Shared } from './jupyter';

const svg = (content: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">${content}</svg>`;

const path = (d: string): string => `<path class="jp-icon3" fill="#616161" d="${d}"/>`;

const ICONS = {
  panel: 'M3 3h2v16h16v2H3zm4 11 4-5 3 3 5-7 1.6 1.2L14.2 15l-3-3-2.6 3.3z',
  tensorboard: 'M4 20v-8h4v8zm6 0V4h4v16zm6 0v-12h4v12z',
};

type Ui = Shared['@jupyterlab/ui-components'] | undefined;

/** Return an icon, undefined in a JupyterLab without them. */
export const makeIcon = (ui: Ui, name: keyof typeof ICONS): unknown =>
  toIcon(ui, name, path(ICONS[name]));

/** Return an app's logo or initials, which are letters and digits only. */
export function makeAppIcon(ui: Ui, { name, title }: { name: string; title: string }): unknown {
  const logo = logoOf(title);
  const text =
    '<text class="jp-icon3" fill="#616161" x="12" y="17" text-anchor="middle" font-size="14" ' +
    `font-family="sans-serif" font-weight="bold">${initialsOf(title)}</text>`;
  return toIcon(ui, `app-${name}`, logo ? path(logo.path) : text);
}

function toIcon(ui: Ui, name: string, content: string): unknown {
  const LabIcon = ui?.LabIcon;
  return LabIcon && new LabIcon({ name: `data-scientist-portal:${name}`, svgstr: svg(content) });
}
