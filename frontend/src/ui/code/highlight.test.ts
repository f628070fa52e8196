import { describe, expect, it } from 'vitest';
import { highlight, MAX_CHARACTERS } from './highlight';

const kinds = (script: string): Record<string, string> =>
  Object.fromEntries(highlight(script).map(({ text, classNames }) => [text, classNames]));

const SCRIPT = `#!/bin/bash
# train it
for n in 1 2; do
  echo "run $n" '<b>' && python3 train.py --epochs 3 > $PORTAL_LOGDIR/out
done
`;

describe('syntax highlighting', () => {
  it("keeps the script's text", () => {
    for (const script of [SCRIPT, '', 'echo "never ends', '\u0000é\r\n', SCRIPT.repeat(50)])
      expect(
        highlight(script)
          .map(({ text }) => text)
          .join(''),
      ).toBe(script);
  });

  it('distinguishes its parts', () => {
    const result = kinds(SCRIPT);
    expect(result['# train it']).toContain('tok-comment');
    expect(result.for).toContain('tok-keyword');
    expect(result.$PORTAL_LOGDIR).toContain('tok-');
    expect(result["'<b>'"]).toContain('tok-string');
  });

  it('detects the language by the first line', () => {
    expect(kinds('#!/usr/bin/env python3\nimport os\n').import).toContain('tok-keyword');
    expect(kinds('import os\n').import).toBeUndefined();
  });

  it('leaves very long texts unchanged', () => {
    const long = 'echo\n'.repeat(MAX_CHARACTERS / 4);
    expect(highlight(long)).toEqual([{ text: long, classNames: '' }]);
  });
});
