import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { loadLastStart, saveLastStart } from './lastStart';

const NOTHING = { environment: null, preset: null, custom: null };

describe('the last choice', () => {
  const stored = new Map<string, string>();

  beforeEach(() => {
    stored.clear();
    const localStorage = {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => stored.set(key, value),
    };
    vi.stubGlobal('window', { localStorage });
  });
  afterEach(() => vi.unstubAllGlobals());

  it('is loaded for the user who chose it, and for no other', () => {
    const choice = { environment: 'vision', preset: 'large', custom: null };
    saveLastStart('alice', choice);
    expect(loadLastStart('alice')).toEqual(choice);
    expect(loadLastStart('bob')).toEqual(NOTHING);
  });

  it('is empty if storage is disabled', () => {
    vi.stubGlobal('window', {});
    saveLastStart('alice', { environment: 'vision', preset: null, custom: null });
    expect(loadLastStart('alice')).toEqual(NOTHING);
  });
});
