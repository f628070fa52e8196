import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { storage } from '@/testing/storage';
import {
  canStoreLanguage,
  forgetLanguage,
  languageBeforeLogin,
  storedLanguage,
  storeLanguage,
  storeLanguageBeforeLogin,
} from './storedLanguage';

beforeEach(() => {
  vi.stubGlobal('window', { localStorage: storage(), sessionStorage: storage() });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

describe('a browser', () => {
  it('stores its language, and the choice made at this login', () => {
    expect([storedLanguage(), languageBeforeLogin()]).toEqual([null, null]);
    expect([storeLanguage('zh'), storeLanguageBeforeLogin('en')]).toEqual([true, true]);
    expect([storedLanguage(), languageBeforeLogin()]).toEqual(['zh', 'en']);
    storeLanguage(null);
    expect([storedLanguage(), languageBeforeLogin()]).toEqual([null, 'en']);
  });

  it('forgets both at logout', () => {
    storeLanguage('zh');
    storeLanguageBeforeLogin('zh');
    forgetLanguage();
    expect([window.localStorage.length, window.sessionStorage.length]).toEqual([0, 0]);
  });

  it('detects whether storage works, and leaves no trace of the check', () => {
    expect(canStoreLanguage()).toBe(true);
    expect(window.localStorage.length).toBe(0);
    vi.stubGlobal('window', {});
    expect(canStoreLanguage()).toBe(false);
    expect([storeLanguage('zh'), storedLanguage()]).toEqual([false, null]);
  });

  it('ignores invalid stored values', () => {
    window.localStorage.setItem('portal-language', 'fr');
    expect(storedLanguage()).toBeNull();
  });
});
