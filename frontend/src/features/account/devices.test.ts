import { describe, expect, it } from 'vitest';
import { codeInFragment } from './devices';

describe('the code in the address', () => {
  it('is taken from the fragment', () => {
    expect(codeInFragment('#BCDF-GHJK')).toBe('BCDF-GHJK');
    expect(codeInFragment('bcdfghjk')).toBe('BCDFGHJK');
  });

  it('is empty for any other fragment', () => {
    for (const other of ['', '#', '#BCDF', '#BCDF-GHJK-LMNP', '#<b>F-GHJK', '#1234-5678'])
      expect(codeInFragment(other)).toBe('');
  });
});
