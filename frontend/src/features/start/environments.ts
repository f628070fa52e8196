/** In what order environments are offered. Pure. */
import type { Environment } from '@/api/types';

type Known = Pick<Environment, 'title' | 'framework' | 'available' | 'gpu'>;

function place({ available, framework, gpu }: Known): number {
  if (!available) return 3;
  return framework !== null ? 2 : gpu === 'none' ? 1 : 0;
}

/** What serves everybody first, then the frameworks by name, and at last what can't be used. */
export function inEnvironmentOrder<T extends Known>(all: readonly T[]): T[] {
  return [...all].sort((a, b) => place(a) - place(b) || a.title.localeCompare(b.title));
}
