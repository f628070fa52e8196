import { afterEach, describe, expect, it, vi } from 'vitest';
import { isOwnLogin, rememberLogin } from './ownLogin';

function storage(): Pick<Storage, 'getItem' | 'setItem'> {
  const kept = new Map<string, string>();
  return {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => void kept.set(name, value),
  };
}

afterEach(() => vi.unstubAllGlobals());

describe('isOwnLogin', () => {
  it('recognizes only the login made here', () => {
    vi.stubGlobal('window', { localStorage: storage() });
    expect(isOwnLogin('a1')).toBe(false);
    rememberLogin('a1');
    expect(isOwnLogin('a1')).toBe(true);
    expect(isOwnLogin('b2')).toBe(false);
    rememberLogin('b2');
    expect(isOwnLogin('a1')).toBe(false);
  });

  it('accepts every login without storage', () => {
    vi.stubGlobal('window', {
      get localStorage(): Storage {
        throw new DOMException('denied', 'SecurityError');
      },
    });
    expect(() => rememberLogin('a1')).not.toThrow();
    expect(isOwnLogin('a1')).toBe(true);
  });
});
