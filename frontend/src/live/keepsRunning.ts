import type { Session } from '@/api/types';

/**
 * Return whether a session runs, or has run and JupyterHub is only being asked to serve it again. For
 * these seconds its state is `starting`; what a page has open for it, such as a dialog, has to stay.
 * Pure.
 */
export const keepsRunning = ({ state }: Pick<Session, 'state'>, hasRun: boolean): boolean =>
  state === 'running' || (hasRun && state === 'starting');
