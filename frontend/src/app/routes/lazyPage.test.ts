import { afterEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '@/api/problem';
import { lazyPage } from './lazyPage';

const MISSING = new TypeError('Failed to fetch dynamically imported module: /assets/Page.js');
const reload = vi.fn();

/** Load a page whose module is missing, and return whether drawing it throws an ApiError. */
async function failsWithApiError(answer: () => Promise<Response>): Promise<boolean> {
  vi.stubGlobal('fetch', answer);
  vi.stubGlobal('window', { location: { reload } });
  vi.stubGlobal('sessionStorage', { getItem: () => null, setItem: () => undefined });
  const Page = lazyPage<Record<string, () => null>, 'Page'>(() => Promise.reject(MISSING), 'Page');
  await Page.preload?.();
  try {
    (Page as (props: object) => unknown)({});
  } catch (error) {
    return error instanceof ApiError;
  }
  return false;
}

afterEach(() => vi.unstubAllGlobals());

describe('a page whose module cannot be fetched', () => {
  it('is an error while the portal cannot be reached', async () => {
    expect(await failsWithApiError(() => Promise.reject(new TypeError('network')))).toBe(true);
    expect(await failsWithApiError(async () => new Response('', { status: 502 }))).toBe(true);
    expect(reload).not.toHaveBeenCalled();
  });

  it('is fetched with the rest of the portal after an upgrade', async () => {
    expect(await failsWithApiError(async () => new Response(''))).toBe(false);
    expect(reload).toHaveBeenCalledOnce();
  });
});
