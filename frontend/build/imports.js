/**
 * Checks the direction of imports in src: layers import only what is below them, and features don't
 * import each other in circles. `npm run lint` runs it.
 *
 * @typedef {{ file: string, target: string }} Import both relative to src
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** From bottom to top. Folders of one layer may import each other. */
const LAYERS = [['api', 'i18n', 'lib'], ['live', 'ui'], ['features'], ['app', 'main.tsx']];
/** Test support may import everything; only tests import it. */
const TEST_SUPPORT = 'testing';

const isTest = (file) => /\.test\.tsx?$/.test(file) || file.startsWith(`${TEST_SUPPORT}/`);

const layerOf = (file) => LAYERS.findIndex((folders) => folders.includes(file.split('/')[0]));

const featureOf = (file) => /^features\/([^/]+)\//.exec(file)?.[1];

/** @param {Import[]} imports */
export function layerProblems(imports) {
  return imports.flatMap(({ file, target }) => {
    if (isTest(file)) return [];
    if (isTest(target)) return [`${file} imports test support: ${target}`];
    const allowed = layerOf(target) <= layerOf(file) || layerOf(file) === -1;
    return allowed ? [] : [`${file} imports from a higher layer: ${target}`];
  });
}

/**
 * Circles of features, each once, with an import for each of its steps.
 * @param {Import[]} imports
 */
export function featureCircles(imports) {
  /** @type {Map<string, Map<string, Import>>} */
  const graph = new Map();
  for (const each of imports) {
    const [from, to] = [featureOf(each.file), featureOf(each.target)];
    if (!from || !to || from === to || isTest(each.file)) continue;
    if (!graph.has(from)) graph.set(from, new Map());
    graph.get(from)?.set(to, each);
  }
  const problems = [];
  const finished = new Set();
  /** @param {string} feature @param {string[]} path */
  function visit(feature, path) {
    const start = path.indexOf(feature);
    if (start !== -1) {
      const circle = [...path.slice(start), feature];
      const steps = circle.slice(1).map((to, at) => {
        const { file, target } = graph.get(circle[at])?.get(to) ?? { file: '', target: '' };
        return `  ${file} imports ${target}`;
      });
      problems.push([`features import each other: ${circle.join(' → ')}`, ...steps].join('\n'));
      return;
    }
    if (finished.has(feature)) return;
    for (const next of graph.get(feature)?.keys() ?? []) visit(next, [...path, feature]);
    finished.add(feature);
  }
  for (const feature of graph.keys()) visit(feature, []);
  return problems;
}

/**
 * @param {string} src
 * @returns {Import[]}
 */
export function readImports(src) {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.d.ts'))
    .flatMap((file) => {
      const { importedFiles } = ts.preProcessFile(readFileSync(join(src, file), 'utf8'));
      return importedFiles.flatMap(({ fileName }) => {
        if (fileName.startsWith('@/')) return [{ file, target: fileName.slice(2) }];
        if (!fileName.startsWith('.')) return [];
        const target = relative(src, resolve(src, dirname(file), fileName));
        return target.startsWith('..') ? [] : [{ file, target }];
      });
    });
}

function main() {
  const imports = readImports(resolve(dirname(fileURLToPath(import.meta.url)), '../src'));
  const problems = [...layerProblems(imports), ...featureCircles(imports)];
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.exitCode = problems.length > 0 ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
