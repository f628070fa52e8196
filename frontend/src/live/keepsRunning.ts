import type { Session } from '@/api/types';

/**
 * Return whether a session runs, or has run and JupyterHub is only being asked to serve it again. For
 * these seconds its state is `starting`, and open dialogs about it have to stay open.
 * Pure.
 */
export const keepsRunning = ({ state }: Pick<Session, 'state'>, hasRun: boolean): boolean =>
  state === 'running' || (hasRun && state === 'starting');
