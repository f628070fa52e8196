import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { loadLastStart, saveLastStart } from './lastStart';

const NOTHING = { environment: null, preset: null, own: null };

describe('what was chosen last time', () => {
  const kept = new Map<string, string>();

  beforeEach(() => {
    kept.clear();
    const localStorage = {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => kept.set(key, value),
    };
    vi.stubGlobal('window', { localStorage });
  });
  afterEach(() => vi.unstubAllGlobals());

  it('is loaded for the user who chose it, and for no other', () => {
    const choice = { environment: 'vision', preset: 'large', own: null };
    saveLastStart('alice', choice);
    expect(loadLastStart('alice')).toEqual(choice);
    expect(loadLastStart('bob')).toEqual(NOTHING);
  });

  it('is nothing where storage is switched off', () => {
    vi.stubGlobal('window', {});
    saveLastStart('alice', { environment: 'vision', preset: null, own: null });
    expect(loadLastStart('alice')).toEqual(NOTHING);
  });
});
