import { describe, expect, it } from 'vitest';
import { storage } from '@/testing/storage';
import { storeTypedName, takeTypedName } from './typedName';

describe('the name typed at the login', () => {
  it('is available on the next page only', () => {
    const tab = storage();
    storeTypedName(tab, 'alice');
    expect(takeTypedName(tab)).toBe('alice');
    expect(takeTypedName(tab)).toBe('');
  });

  it('may be empty', () => {
    const tab = storage();
    storeTypedName(tab, '');
    expect(takeTypedName(tab)).toBe('');
  });

  it('is not kept without storage', () => {
    for (const tab of [null, storage(0)]) {
      storeTypedName(tab, 'alice');
      expect(takeTypedName(tab)).toBe('');
    }
  });
});
