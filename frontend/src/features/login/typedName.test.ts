import { describe, expect, it } from 'vitest';
import { keepName, takeName } from './typedName';

function storage() {
  const stored = new Map<string, string>();
  return {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
    removeItem: (key: string) => void stored.delete(key),
  };
}

const full = {
  ...storage(),
  setItem: () => {
    throw new DOMException('no room', 'QuotaExceededError');
  },
};

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
    for (const tab of [null, full]) {
      keepName(tab, 'alice');
      expect(takeName(tab)).toBe('');
    }
  });
});
