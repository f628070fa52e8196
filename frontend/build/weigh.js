/**
 * How much JavaScript a browser fetches before a page works, from Vite's manifest. Pure.
 *
 * @typedef {{ file: string, isEntry?: boolean, imports?: string[], dynamicImports?: string[] }} Chunk
 * @typedef {Record<string, Chunk>} Manifest by a chunk's source, or its name where it has no source of its own
 * @typedef {{ page: string, bytes: number }} Load
 */

/** What every page behind the login needs besides its own: what knows the pages, what is around them,
 * and the words for those who read the largest catalogue. */
const APP = 'src/app/render.tsx';
const LAYOUT = 'src/app/MemberLayout.tsx';
const LANGUAGE = 'src/i18n/zh.ts';

/**
 * A chunk and all that it imports at once.
 * @param {Manifest} manifest
 * @param {string[]} names
 * @returns {Set<string>}
 */
function together(manifest, names) {
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
 * List what each page loads on a first visit, the heaviest page first.
 * @param {Manifest} manifest
 * @param {(file: string) => number} compressedBytes of a file of the build
 * @returns {Load[]}
 */
export function firstLoads(manifest, compressedBytes) {
  const entry = Object.keys(manifest).find((name) => manifest[name]?.isEntry);
  if (entry === undefined) throw new Error('the manifest has no entry');
  const always = [entry, APP, LAYOUT, LANGUAGE];
  together(manifest, always);
  // The bundler may part what knows the pages from the rest of the app.
  const lazily = [...together(manifest, [APP])].flatMap(
    (name) => manifest[name]?.dynamicImports ?? [],
  );
  const pages = [...new Set(lazily)].filter((name) => name !== LAYOUT);
  return pages
    .map((page) => {
      const names = [...together(manifest, [...always, page])];
      const files = new Set(names.map((name) => manifest[name]?.file ?? ''));
      return { page, bytes: [...files].reduce((sum, file) => sum + compressedBytes(file), 0) };
    })
    .sort((a, b) => b.bytes - a.bytes);
}
