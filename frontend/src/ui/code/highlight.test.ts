import { describe, expect, it } from 'vitest';
import { highlighted, MOST_CHARACTERS } from './highlight';

const kinds = (script: string): Record<string, string> =>
  Object.fromEntries(highlighted(script).map(({ text, names }) => [text, names]));

const SCRIPT = `#!/bin/bash
# train it
for n in 1 2; do
  echo "run $n" '<b>' && python3 train.py --epochs 3 > $PORTAL_LOGDIR/out
done
`;

describe('a script in colours', () => {
  it('is still the same script', () => {
    for (const script of [SCRIPT, '', 'echo "never ends', '\u0000é\r\n', SCRIPT.repeat(50)])
      expect(
        highlighted(script)
          .map(({ text }) => text)
          .join(''),
      ).toBe(script);
  });

  it('distinguishes its parts', () => {
    const found = kinds(SCRIPT);
    expect(found['# train it']).toContain('tok-comment');
    expect(found.for).toContain('tok-keyword');
    expect(found.$PORTAL_LOGDIR).toContain('tok-');
    expect(found["'<b>'"]).toContain('tok-string');
  });

  it('goes by the first line', () => {
    expect(kinds('#!/usr/bin/env python3\nimport os\n').import).toContain('tok-keyword');
    expect(kinds('import os\n').import).toBeUndefined();
  });

  it('leaves very long texts unchanged', () => {
    const long = 'echo\n'.repeat(MOST_CHARACTERS / 4);
    expect(highlighted(long)).toEqual([{ text: long, names: '' }]);
  });
});
