/** Selection of the apps that open a file, and of those that run; also for JupyterLab. Pure. */
import type { App, CatalogApp } from '@/api/types';

/** Return the apps that open a file of this name. */
export const appsForFile = <T extends Pick<CatalogApp, 'input' | 'extensions'>>(
  apps: readonly T[],
  name: string,
): T[] =>
  apps.filter(
    ({ input, extensions }) =>
      input === 'file' && extensions.some((extension) => name.endsWith(extension)),
  );

export const isAlive = ({ state }: Pick<App, 'state'>): boolean =>
  state === 'running' || state === 'starting';
