import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { recall, remember } from './remembered';

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

  it('is recalled for whoever chose it, and for nobody else', () => {
    const choice = { environment: 'vision', preset: 'large', own: null };
    remember('alice', choice);
    expect(recall('alice')).toEqual(choice);
    expect(recall('bob')).toEqual(NOTHING);
  });

  it('is nothing where storage is switched off', () => {
    vi.stubGlobal('window', {});
    remember('alice', { environment: 'vision', preset: null, own: null });
    expect(recall('alice')).toEqual(NOTHING);
  });
});
