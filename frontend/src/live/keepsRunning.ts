import type { Session } from '@/api/types';

/**
 * Return whether a session runs, or has run and JupyterHub, which lost its server (for example in a
 * restart), is taking it back. For those few seconds its state is `starting`; open dialogs about it
 * must stay open.
 * Pure.
 */
export const keepsRunning = ({ state }: Pick<Session, 'state'>, hasRun: boolean): boolean =>
  state === 'running' || (hasRun && state === 'starting');
