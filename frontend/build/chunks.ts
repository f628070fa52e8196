/**
 * Groups the modules into chunks, so that a first visit takes a handful of files instead of one for each
 * set of pages that share a module. Pure.
 *
 * - `start`: the language, which is set before anything else runs (src/main.tsx)
 * - `vendor` and `app`: the libraries and the sources that src/app/render.tsx imports statically
 * - `editor` and `plot`: large libraries, which pages fetch once they show code or a chart, and the
 *   shared sources that need them
 * - `table` and `form`: those of records, which the heaviest pages do not use, or only one of them
 * - `date`: the date field, which lists and announcements use
 * - `widgets`: other libraries that several pages use
 * - a chunk for each feature and one for the layers below, with what several pages use
 *
 * What only one page uses is in that page's own chunk.
 */

/** Rolldown's modules, as far as they matter here. */
interface Graph {
  getModuleInfo: (
    id: string,
  ) => { importers: readonly string[]; importedIds: readonly string[] } | null;
}

export const APP = '/src/app/render.tsx';
const ENTRY = /\/(main\.tsx|index\.html)$/;
const LARGE: Readonly<Record<string, RegExp>> = {
  editor: /\/node_modules\/(@codemirror|@lezer|@marijn|crelt|style-mod|w3c-keyname)\//,
  plot: /\/node_modules\/uplot\//,
};

const RECORDS: Readonly<Record<string, RegExp>> = {
  table: /\/src\/ui\/DataTable\./,
  form: /\/src\/ui\/(RecordForm|useRecordForm|conflictNotice|editConflict)\./,
  date: /\/src\/(ui\/DateField|lib\/days)\./,
};

const isLibrary = (id: string): boolean => id.includes('/node_modules/');

/** Return a module and all that it imports statically, or all that import it. */
function reachable(id: string, graph: Graph, direction: 'importers' | 'importedIds'): Set<string> {
  const found = new Set([id]);
  // a set grows while it is iterated
  for (const each of found)
    for (const next of graph.getModuleInfo(each)?.[direction] ?? []) found.add(next);
  return found;
}

/** Return the group of a module that the app imports statically, directly or not; else null. */
export function appChunk(id: string, graph: Graph): string | null {
  const importers = [...reachable(id, graph, 'importers')];
  if (!importers.some((each) => each.endsWith(APP))) return null;
  return isLibrary(id) ? 'vendor' : 'app';
}

/** Return the group of a module that several pages use. */
export function sharedChunk(id: string, graph: Graph): string {
  const imported = [...reachable(id, graph, 'importedIds')];
  for (const [name, library] of Object.entries(LARGE))
    if (imported.some((each) => library.test(each))) return name;
  if (isLibrary(id)) return 'widgets';
  for (const [name, source] of Object.entries(RECORDS)) if (source.test(id)) return name;
  return /\/src\/features\/([^/]+)\//.exec(id)?.[1] ?? 'common';
}

/** Vite's `build.rolldownOptions.output.codeSplitting`. */
export const codeSplitting = {
  // Each group is complete by itself, and the layers and features do not import each other in circles
  // (build/imports.js).
  includeDependenciesRecursively: false,
  groups: [
    {
      name: 'start',
      tags: ['$initial' as const],
      test: (id: string) => !ENTRY.test(id),
      priority: 3,
    },
    { name: appChunk, debugName: 'app', priority: 2 },
    { name: sharedChunk, debugName: 'shared', minShareCount: 2, priority: 1 },
  ],
};
