import { beforeEach, describe, expect, it, vi } from 'vitest';
import { api } from '@/api/client';
import { notifyLogout } from '@/lib/onLogout';
import { uploads } from './uploader';

const browser = vi.hoisted(() => {
  const window = new EventTarget();
  // no timer ever fires: nothing is retried automatically
  vi.stubGlobal('window', Object.assign(window, { setTimeout: () => 0 }));
  return window;
});

/** A lost network: no request is ever answered. */
vi.mock('@/api/client', async (importOriginal) => ({
  ...(await importOriginal<object>()),
  api: { POST: vi.fn(() => Promise.reject(new TypeError('no network'))) },
}));

const networkIsBack = (): boolean => browser.dispatchEvent(new Event('online'));
const begun = (): number => vi.mocked(api.POST).mock.calls.length;
const waiting = (): Promise<void> =>
  vi.waitFor(() => expect(uploads.snapshot()[0]?.waitsForNetwork).toBe(true));

async function lostUpload(): Promise<void> {
  uploads.setOwner('alice');
  uploads.add('home', '', [new File(['x'], 'notes.txt')]);
  await waiting();
}

describe('uploads that wait for the network', () => {
  beforeEach(() => {
    notifyLogout();
    vi.mocked(api.POST).mockClear();
  });

  it('continue when it is back', async () => {
    await lostUpload();
    networkIsBack();
    await waiting();
    expect(begun()).toBe(2);
  });

  it('stay while the same user visits other pages', async () => {
    await lostUpload();
    uploads.setOwner('alice');
    expect(uploads.snapshot()).toHaveLength(1);
  });

  it('are removed when their user logs out', async () => {
    await lostUpload();
    notifyLogout();
    expect(uploads.snapshot()).toEqual([]);
    networkIsBack();
    expect(begun()).toBe(1);
  });

  it('are not shown to another user', async () => {
    await lostUpload();
    uploads.setOwner('bob');
    expect(uploads.snapshot()).toEqual([]);
  });
});
