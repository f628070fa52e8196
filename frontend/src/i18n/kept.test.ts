import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { storage } from '@/testing/storage';
import {
  chosenBeforeLogin,
  forgetLanguage,
  keepBeforeLogin,
  keepHere,
  keepsChoices,
  keptHere,
} from './kept';

beforeEach(() => {
  vi.stubGlobal('window', { localStorage: storage(), sessionStorage: storage() });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

describe('a browser', () => {
  it('keeps what it speaks, and what was chosen at this login', () => {
    expect([keptHere(), chosenBeforeLogin()]).toEqual([null, null]);
    expect([keepHere('zh'), keepBeforeLogin('en')]).toEqual([true, true]);
    expect([keptHere(), chosenBeforeLogin()]).toEqual(['zh', 'en']);
    keepHere(null);
    expect([keptHere(), chosenBeforeLogin()]).toEqual([null, 'en']);
  });

  it('forgets both when somebody logs out', () => {
    keepHere('zh');
    keepBeforeLogin('zh');
    forgetLanguage();
    expect([window.localStorage.length, window.sessionStorage.length]).toEqual([0, 0]);
  });

  it('knows whether it keeps anything, and leaves no trace of finding out', () => {
    expect(keepsChoices()).toBe(true);
    expect(window.localStorage.length).toBe(0);
    vi.stubGlobal('window', {});
    expect(keepsChoices()).toBe(false);
    expect([keepHere('zh'), keptHere()]).toEqual([false, null]);
  });

  it('passes over what no version of these pages has kept', () => {
    window.localStorage.setItem('portal-language', 'fr');
    expect(keptHere()).toBeNull();
  });
});
