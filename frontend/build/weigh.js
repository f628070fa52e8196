/**
 * Computes what a browser loads before a page works, from Vite's manifest. Pure.
 *
 * @typedef {{ file: string, isEntry?: boolean, imports?: string[], dynamicImports?: string[] }} Chunk
 * @typedef {Record<string, Chunk>} Manifest by a chunk's source, or its name where it has no source of its own
 * @typedef {{ page: string, bytes: number, scripts: number }} Load
 * `bytes`: of the compressed scripts
 */

/** The routes, the layout and Home, which every page needs besides its own chunks. */
export const APP = 'src/app/render.tsx';
/** The largest catalog of texts. */
const LANGUAGE = 'src/i18n/zh.ts';

/**
 * Return the chunks and all that they import statically.
 * @param {Manifest} manifest
 * @param {string[]} names
 * @returns {Set<string>}
 */
function withImports(manifest, names) {
  const found = new Set();
  const rest = [...names];
  for (let name = rest.pop(); name !== undefined; name = rest.pop()) {
    if (found.has(name)) continue;
    const chunk = manifest[name];
    if (chunk === undefined) throw new Error(`the manifest has no ${name}`);
    found.add(name);
    rest.push(...(chunk.imports ?? []));
  }
  return found;
}

/**
 * List what each page loads on a first visit, the heaviest page first. The app itself is listed too: it
 * contains Home.
 * @param {Manifest} manifest
 * @param {(file: string) => number} compressedBytes of a file of the build
 * @returns {Load[]}
 */
export function firstLoads(manifest, compressedBytes) {
  const entry = Object.keys(manifest).find((name) => manifest[name]?.isEntry);
  if (entry === undefined) throw new Error('the manifest has no entry');
  const always = [entry, APP, LANGUAGE];
  withImports(manifest, always);
  // The bundler may split the routes from the rest of the app.
  const lazily = [...withImports(manifest, [APP])].flatMap(
    (name) => manifest[name]?.dynamicImports ?? [],
  );
  return [APP, ...new Set(lazily)]
    .map((page) => {
      const chunks = [...withImports(manifest, [...always, page])].map((name) => manifest[name]);
      const scripts = new Set(chunks.map((chunk) => chunk?.file ?? ''));
      const bytes = [...scripts].reduce((sum, file) => sum + compressedBytes(file), 0);
      return { page, bytes, scripts: scripts.size };
    })
    .sort((a, b) => b.bytes - a.bytes);
}
