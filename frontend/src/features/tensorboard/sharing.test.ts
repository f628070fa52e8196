import { describe, expect, it } from 'vitest';
import { aboutText, sharedText } from './sharing';

describe('the text of shares', () => {
  it('is one sentence', () => {
    expect(sharedText({ shared_with: [], shared_groups: [] })).toBeNull();
    expect(sharedText({ shared_with: ['bob'], shared_groups: [] })).toBe('bob');
    expect(sharedText({ shared_with: ['bob', 'carol'], shared_groups: ['physics'] })).toBe(
      'bob, carol, and everyone in physics',
    );
  });

  it('names the owner to users it is shared with', () => {
    const alices = { kind: 'job', owner: 'alice', owner_name: 'Alice' } as const;
    expect(aboutText({ ...alices, shared_with_you: true, shared_groups: ['physics'] })).toBe(
      'A job of Alice (alice), shared with you',
    );
    const unnamed = { ...alices, kind: 'session', owner_name: '' } as const;
    expect(aboutText({ ...unnamed, shared_with_you: false, shared_groups: ['a', 'b'] })).toBe(
      'A session of alice, shared with everyone in a and b',
    );
  });
});
