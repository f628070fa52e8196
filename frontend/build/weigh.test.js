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
    dynamicImports: ['src/app/MemberLayout.tsx', 'src/a.tsx', 'src/b.tsx'],
  },
  'src/i18n/zh.ts': { file: 'zh.js' },
  '_shared.js': { file: 'shared.js', imports: ['index.html'] },
  'src/app/MemberLayout.tsx': { file: 'layout.js', imports: ['_shared.js'] },
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
  'layout.js': 5,
  'a.js': 1,
  'b.js': 2,
  'more.js': 3,
};

describe('what a first load weighs', () => {
  it('is entry, app, layout, language and page with all they import at once, each counted once', () => {
    expect(firstLoads(MANIFEST, (file) => SIZES[file])).toEqual([
      { page: 'src/b.tsx', bytes: 3120 },
      { page: 'src/a.tsx', bytes: 3116 },
    ]);
  });

  it('is never guessed from a manifest that lacks something', () => {
    expect(() => firstLoads({}, () => 0)).toThrow(/no entry/);
    const { '_shared.js': _gone, ...holed } = MANIFEST;
    expect(() => firstLoads(holed, () => 0)).toThrow(/no _shared.js/);
    const { 'src/app/MemberLayout.tsx': _moved, ...moved } = MANIFEST;
    expect(() => firstLoads(moved, () => 0)).toThrow(/no src\/app\/MemberLayout/);
  });
});
