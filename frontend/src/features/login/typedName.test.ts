import { describe, expect, it } from 'vitest';
import { storage } from '@/testing/storage';
import { keepName, takeName } from './typedName';

describe('the name typed at the login', () => {
  it('is there on the next page, and only there', () => {
    const tab = storage();
    keepName(tab, 'alice');
    expect(takeName(tab)).toBe('alice');
    expect(takeName(tab)).toBe('');
  });

  it('may be none', () => {
    const tab = storage();
    keepName(tab, '');
    expect(takeName(tab)).toBe('');
  });

  it('is typed again where nothing can be kept', () => {
    for (const tab of [null, storage(0)]) {
      keepName(tab, 'alice');
      expect(takeName(tab)).toBe('');
    }
  });
});
