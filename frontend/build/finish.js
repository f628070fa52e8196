/**
 * The end of a build: compresses what browsers fetch, once and well, so that the front door need not at
 * each request; and fails when a page has become too heavy.
 */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { firstLoads } from './weigh.js';

const MOST_BYTES = 350_000;
/** Less isn't worth a file of its own; the front door doesn't compress it either. */
const WORTH_IT_BYTES = 1024;
const TEXT = /\.(js|css|svg|json)$/;

const compress = promisify(gzip);

/** Writes FILE.gz beside each file of the assets and returns their sizes by name. */
async function compressAll(dist) {
  const names = await readdir(join(dist, 'assets'));
  const sizes = new Map();
  for (const name of names.filter((each) => TEXT.test(each))) {
    const file = join(dist, 'assets', name);
    const content = await readFile(file);
    const small = await compress(content, { level: constants.Z_BEST_COMPRESSION });
    sizes.set(`assets/${name}`, small.length);
    if (content.length >= WORTH_IT_BYTES) await writeFile(`${file}.gz`, small);
  }
  return sizes;
}

async function main(dist) {
  const folder = join(dist, '.vite');
  const manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'));
  const sizes = await compressAll(dist);
  const loads = firstLoads(manifest, (file) => sizes.get(file) ?? 0);
  // The manifest is not needed after the build, and everything in this folder is served.
  await rm(folder, { recursive: true });
  const [heaviest] = loads;
  if (heaviest === undefined) throw new Error('the build has no pages');
  const kB = (bytes) => `${(bytes / 1000).toFixed(0)} kB`;
  const home = loads.find(({ page }) => page.includes('/home/'));
  const lines = [home ?? heaviest, heaviest].map(({ page, bytes }) => `${page} ${kB(bytes)}`);
  process.stdout.write(`JavaScript at first load, compressed: ${lines.join(', ')}\n`);
  const heavy = loads.filter(({ bytes }) => bytes > MOST_BYTES);
  if (heavy.length === 0) return;
  const all = heavy.map(({ page, bytes }) => `  ${page}: ${kB(bytes)}\n`).join('');
  throw new Error(`too heavy at first load, more than ${kB(MOST_BYTES)}:\n${all}`);
}

await main(resolve(process.argv[2] ?? 'dist'));
