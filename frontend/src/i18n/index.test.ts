import { describe, expect, it } from 'vitest';
import { parsedOnce } from '.';

describe('a message', () => {
  it('is parsed once', () => {
    const message = '{count, plural, one {# job} other {# jobs}}';
    expect(parsedOnce(message)).toBe(parsedOnce(message));
    expect(parsedOnce(message)).not.toBe(parsedOnce('{count}'));
  });
});
