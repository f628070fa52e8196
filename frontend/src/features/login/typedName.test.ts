import { describe, expect, it } from 'vitest';
import { storage } from '@/testing/storage';
import { keepName, takeName } from './typedName';

describe('the name typed at the login', () => {
  it('is available on the next page only', () => {
    const tab = storage();
    keepName(tab, 'alice');
    expect(takeName(tab)).toBe('alice');
    expect(takeName(tab)).toBe('');
  });

  it('may be empty', () => {
    const tab = storage();
    keepName(tab, '');
    expect(takeName(tab)).toBe('');
  });

  it('is not kept without storage', () => {
    for (const tab of [null, storage(0)]) {
      keepName(tab, 'alice');
      expect(takeName(tab)).toBe('');
    }
  });
});
