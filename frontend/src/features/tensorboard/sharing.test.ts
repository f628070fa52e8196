import { describe, expect, it } from 'vitest';
import { cameBy, sharedText } from './sharing';

describe('whom it is shared with', () => {
  it('is said in one sentence', () => {
    expect(sharedText({ shared_with: [], shared_groups: [] })).toBeNull();
    expect(sharedText({ shared_with: ['bob'], shared_groups: [] })).toBe('bob');
    expect(sharedText({ shared_with: ['bob', 'carol'], shared_groups: ['physics'] })).toBe(
      'bob, carol and everyone in physics',
    );
  });

  it('is said to those it is shared with', () => {
    expect(cameBy({ shared_with_you: true, shared_groups: ['physics'] })).toBe('with you');
    expect(cameBy({ shared_with_you: false, shared_groups: ['a', 'b'] })).toBe(
      'with everyone in a, with everyone in b',
    );
  });
});
