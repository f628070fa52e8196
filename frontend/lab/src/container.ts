/**
 * The module container that JupyterLab 4 loads a prebuilt extension from: `init` with the packages
 * that it shares, then `get` for the plugin. See docs/decisions/0010-lab-extension.md.
 */
import about from '../about.json';
import type { Shared } from './jupyter';
import { type Lab, makePlugins } from './plugin';

const EXPOSED = './extension';

const NEEDED: (keyof Shared)[] = [
  '@jupyterlab/application',
  '@jupyterlab/apputils',
  '@jupyterlab/filebrowser',
  '@jupyterlab/launcher',
  '@jupyterlab/mainmenu',
  '@jupyterlab/notebook',
  '@jupyterlab/rendermime',
  '@jupyterlab/services',
  '@jupyterlab/statusbar',
  '@jupyterlab/translation',
  '@jupyterlab/ui-components',
  '@lumino/widgets',
];

interface Version {
  get(): Promise<() => unknown>;
  loaded?: unknown;
}

/** Package → version → how to load it, as module federation has it. */
export type Scope = Record<string, Record<string, Version> | undefined>;

const numbers = (version: string): number[] => version.split(/[.+-]/).map((n) => Number(n) || 0);

/** Return whether version `a` is newer than version `b`. */
export function newer(a: string, b: string): boolean {
  const [left, right] = [numbers(a), numbers(b)];
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

/** Select the copy of a shared package that every extension uses: the loaded one, else the newest. */
export function selectVersion(versions: Record<string, Version> | undefined): Version | undefined {
  const [best] = Object.entries(versions ?? {}).sort(([a, left], [b, right]) => {
    if (Boolean(left.loaded) !== Boolean(right.loaded)) return left.loaded ? -1 : 1;
    return newer(a, b) ? -1 : 1;
  });
  return best?.[1];
}

export function makeContainer(needed: readonly string[] = NEEDED) {
  let shared: Scope = {};
  return {
    init(scope: Scope): void {
      shared = scope;
    },
    async get(name: string): Promise<() => unknown> {
      if (name !== EXPOSED) throw new Error(`${about.name} has no ${name}`);
      const loaded = await Promise.all(
        needed.map(async (name) => [name, (await selectVersion(shared[name])?.get())?.()] as const),
      );
      const lab = Object.fromEntries(loaded.filter(([, module]) => module !== undefined)) as Lab;
      const module = { __esModule: true, default: makePlugins(lab) };
      return () => module;
    },
  };
}
