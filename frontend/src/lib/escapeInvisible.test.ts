import { describe, expect, it } from 'vitest';
import { escapeInvisible } from './escapeInvisible';

describe('a name for display', () => {
  it('escapes invisible characters', () => {
    expect(escapeInvisible('plain ü 数据.csv')).toBe('plain ü 数据.csv');
    expect(escapeInvisible('a\nb')).toBe('a\\nb');
    // U+EF80 to U+EFFF stand for the bytes of a name that is not UTF-8
    expect(escapeInvisible(`bad\uefe4`)).toBe('bad\\xe4');
    expect(escapeInvisible('exe\u202etxt')).toBe('exe\\u202etxt');
    expect(escapeInvisible('<img src=x>')).toBe('<img src=x>');
  });
});
