import { glob, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { untranslated } from './untranslated.js';

const texts = (source) => untranslated('page.tsx', source).map(({ text }) => text);

describe('untranslatable texts', () => {
  it('are between tags and in their attributes', () => {
    expect(texts('const a = <p title="Free now">Stop <b>it</b> {name}</p>;')).toEqual([
      'Free now',
      'Stop',
      'it',
    ]);
  });

  it('are sentences, capitalized words and phrases anywhere in the code', () => {
    const source = [
      "const a = ok ? 'Running' : 'it waits here';",
      `const b = \`\${n} more jobs wait.\`;`,
      "const c = { Running: 'x', y: 'Ended.' };",
    ];
    expect(texts(source.join('\n'))).toEqual([
      'Running',
      'it waits here',
      '0 more jobs wait.',
      'Ended.',
    ]);
  });

  it("are not in Lingui's macros, machine-readable, or for developers", () => {
    const source = [
      "import { a } from 'Some Where';",
      'const a = <Trans>Stop <b>it</b></Trans>;',
      "const b = t`Stop it` + plural(n, { one: 'One job', other: 'More jobs' });",
      "if (key === 'Running' || key === 'Enter') throw new Error('Nobody reads this here');",
      "const c = { 'Content of it': 1 }; on('Escape');",
      'const d = <Code className="big red box">squeue --me</Code>;',
      "const e: 'Very Big' = style('light');",
    ];
    expect(texts(source.join('\n'))).toEqual([]);
  });

  it('are reported with their line', () => {
    expect(untranslated('page.tsx', '\n\nconst a = <p>Stop</p>;')).toEqual([
      { line: 3, text: 'Stop' },
    ]);
  });
});

/** Labels that are also the portal's own names, used as lookup keys. */
const LOOKED_FOR = ['features/limits/labels.ts Pending and running jobs'];

describe('the pages', () => {
  it('have none', async () => {
    const src = fileURLToPath(new URL('../src/', import.meta.url));
    const left = [];
    for await (const name of glob('**/*.{ts,tsx}', { cwd: src })) {
      if (/\.test\.tsx?$|schema\.d\.ts$|^testing\//.test(name)) continue;
      const source = await readFile(`${src}${name}`, 'utf8');
      for (const { line, text } of untranslated(name, source))
        if (!LOOKED_FOR.includes(`${name} ${text}`)) left.push(`${name}:${line} ${text}`);
    }
    expect(left.sort()).toEqual([]);
  });
});
