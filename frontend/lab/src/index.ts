/** Registers the container where JupyterLab expects it. */
import about from '../about.json';
import { makeContainer } from './container';

declare global {
  interface Window {
    _JUPYTERLAB?: Record<string, unknown>;
  }
}

window._JUPYTERLAB ??= {};
window._JUPYTERLAB[about.name] = makeContainer();
