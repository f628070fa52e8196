import { describe, expect, it } from 'vitest';
import { compileCached } from '.';

describe('a message', () => {
  it('is parsed once', () => {
    const message = '{count, plural, one {# job} other {# jobs}}';
    expect(compileCached(message)).toBe(compileCached(message));
    expect(compileCached(message)).not.toBe(compileCached('{count}'));
  });
});
