import { afterEach, describe, expect, it, vi } from 'vitest';
import { storage } from '@/testing/storage';
import { storeClock, storedClock } from './clockFormat';

afterEach(() => vi.unstubAllGlobals());

describe('the chosen clock', () => {
  it('is kept in this browser, and forgotten on request', () => {
    vi.stubGlobal('window', { localStorage: storage() });
    expect(storedClock()).toBeNull();
    expect(storeClock('h23')).toBe(true);
    expect(storedClock()).toBe('h23');
    storeClock(null);
    expect(storedClock()).toBeNull();
  });

  it("is that of the region if the browser's storage is disabled or has another value", () => {
    expect(storeClock('h12')).toBe(false);
    expect(storedClock()).toBeNull();
    const stored = storage();
    stored.setItem('portal-clock', 'h99');
    vi.stubGlobal('window', { localStorage: stored });
    expect(storedClock()).toBeNull();
  });
});
