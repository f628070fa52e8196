/**
 * The last step of a build: compresses the assets, so that nginx need not compress them for each request,
 * and fails if a page has become too large or takes too many files.
 */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { APP, firstLoads } from './weigh.js';

/** The most that a first visit loads: the scripts' compressed size, and their number. */
const MAX = { bytes: 350_000, scripts: 20 };
const MAX_OF_HOME = { ...MAX, bytes: 320_000 };
/** Smaller files are not compressed; nginx does not compress them either. */
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
  const home = loads.find(({ page }) => page === APP);
  const [heaviest] = loads;
  if (home === undefined || heaviest === undefined) throw new Error('the build has no pages');
  process.stdout.write(
    `First load of Home: ${inWords(home)}; the heaviest: ${inWords(heaviest)}\n`,
  );
  const heavy = loads.filter((load) => isTooMuch(load, load === home ? MAX_OF_HOME : MAX));
  if (heavy.length === 0) return;
  const all = heavy.map((load) => `  ${inWords(load)}\n`).join('');
  throw new Error(
    `too heavy at first load, more than ${inWords({ page: 'the budget', ...MAX })}:\n${all}`,
  );
}

const isTooMuch = (load, most) => Object.keys(most).some((key) => load[key] > most[key]);

const inWords = ({ page, bytes, scripts }) =>
  `${page}, ${(bytes / 1000).toFixed(0)} kB compressed in ${scripts} scripts`;

await main(resolve(process.argv[2] ?? 'dist'));
