import { describe, expect, it } from 'vitest';
import { appChunk, codeSplitting, sharedChunk } from './chunks.ts';

const SRC = '/portal/frontend/src';
const LIBRARIES = '/portal/frontend/node_modules';
/** What each module imports. */
const IMPORTS = {
  [`${SRC}/app/render.tsx`]: [`${SRC}/ui/Notice.tsx`],
  [`${SRC}/ui/Notice.tsx`]: [`${LIBRARIES}/react/index.js`],
  [`${SRC}/ui/code/languages.ts`]: [`${LIBRARIES}/@codemirror/state/dist/index.js`],
  [`${SRC}/features/log/LogView.tsx`]: [`${SRC}/ui/Notice.tsx`, `${LIBRARIES}/uplot/uPlot.js`],
  [`${LIBRARIES}/react/index.js`]: [`${LIBRARIES}/react/cycle.js`],
  [`${LIBRARIES}/react/cycle.js`]: [`${LIBRARIES}/react/index.js`],
};
const graph = {
  getModuleInfo: (id) => ({
    importedIds: IMPORTS[id] ?? [],
    importers: Object.keys(IMPORTS).filter((each) => IMPORTS[each].includes(id)),
  }),
};

describe('the chunks', () => {
  it.each([
    [`${SRC}/app/render.tsx`, 'app'],
    [`${SRC}/ui/Notice.tsx`, 'app'],
    [`${LIBRARIES}/react/index.js`, 'vendor'],
    [`${LIBRARIES}/react/cycle.js`, 'vendor'],
    [`${SRC}/features/log/LogView.tsx`, null],
    [`${LIBRARIES}/uplot/uPlot.js`, null],
  ])('of the app contain what it imports: %s', (id, name) => {
    expect(appChunk(id, graph)).toBe(name);
  });

  it.each([
    [`${SRC}/features/files/sizes.ts`, 'files'],
    [`${SRC}/ui/Fold.tsx`, 'common'],
    [`${SRC}/ui/DataTable.tsx`, 'table'],
    [`${SRC}/ui/RecordForm.tsx`, 'form'],
    [`${SRC}/ui/useRecordForm.ts`, 'form'],
    [`${SRC}/lib/days.ts`, 'date'],
    [`${SRC}/ui/code/languages.ts`, 'editor'],
    [`${LIBRARIES}/@codemirror/state/dist/index.js`, 'editor'],
    [`${LIBRARIES}/uplot/uPlot.js`, 'plot'],
    [`${SRC}/features/log/LogView.tsx`, 'plot'],
    [`${LIBRARIES}/@mantine/core/esm/Table.mjs`, 'widgets'],
  ])('of pages are by library, feature and layer: %s', (id, name) => {
    expect(sharedChunk(id, graph)).toBe(name);
  });

  it('leave the entry by itself', () => {
    const [start] = codeSplitting.groups;
    expect(start?.test?.(`${SRC}/main.tsx`)).toBe(false);
    expect(start?.test?.('/portal/frontend/index.html')).toBe(false);
    expect(start?.test?.(`${SRC}/i18n/index.ts`)).toBe(true);
  });
});
