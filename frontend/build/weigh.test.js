import { describe, expect, it } from 'vitest';
import { firstLoads } from './weigh.js';

const MANIFEST = {
  'index.html': {
    file: 'entry.js',
    isEntry: true,
    imports: ['_shared.js'],
    dynamicImports: ['src/app/render.tsx', 'src/i18n/zh.ts'],
  },
  'src/app/render.tsx': {
    file: 'app.js',
    imports: ['_router.js'],
  },
  '_router.js': {
    file: 'router.js',
    dynamicImports: ['src/a.tsx', 'src/b.tsx'],
  },
  'src/i18n/zh.ts': { file: 'zh.js' },
  '_shared.js': { file: 'shared.js', imports: ['index.html'] },
  'src/a.tsx': { file: 'a.js', imports: ['_shared.js'], dynamicImports: ['src/later.tsx'] },
  'src/b.tsx': { file: 'b.js', imports: ['_more.js'] },
  '_more.js': { file: 'more.js' },
  'src/later.tsx': { file: 'later.js' },
};
const SIZES = {
  'entry.js': 100,
  'app.js': 1500,
  'router.js': 500,
  'zh.js': 1000,
  'shared.js': 10,
  'a.js': 1,
  'b.js': 2,
  'more.js': 3,
};

describe('the size of a first load', () => {
  it('is that of entry, app, language and page with static imports, each counted once', () => {
    expect(firstLoads(MANIFEST, (file) => SIZES[file])).toEqual([
      { page: 'src/b.tsx', bytes: 3115, scripts: 7 },
      { page: 'src/a.tsx', bytes: 3111, scripts: 6 },
      { page: 'src/app/render.tsx', bytes: 3110, scripts: 5 },
    ]);
  });

  it('fails on an incomplete manifest', () => {
    expect(() => firstLoads({}, () => 0)).toThrow(/no entry/);
    const { '_shared.js': _gone, ...holed } = MANIFEST;
    expect(() => firstLoads(holed, () => 0)).toThrow(/no _shared.js/);
    const { 'src/app/render.tsx': _moved, ...moved } = MANIFEST;
    expect(() => firstLoads(moved, () => 0)).toThrow(/no src\/app\/render/);
  });
});
