import { i18n } from '@lingui/core';
import { I18nProvider } from '@lingui/react';
import { MantineProvider } from '@mantine/core';
import { type ComponentType, type ReactNode, Suspense } from 'react';
import { renderToString } from 'react-dom/server';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { textOf } from '@/testing/markup';
import { lazyPart } from './lazyPart';

let clickRetry: (() => void) | undefined;
vi.mock(import('@mantine/core'), async (original) => {
  const Button = ({ onClick, children }: { onClick: () => void; children: ReactNode }) => {
    clickRetry = onClick;
    return <button type="button">{children}</button>;
  };
  return { ...(await original()), Button } as Awaited<ReturnType<typeof original>>;
});

const Chart: ComponentType<{ title: string }> = ({ title }) => <p>Chart of {title}</p>;
const MISSING = new TypeError('Failed to fetch dynamically imported module: /assets/Chart.js');
const load = vi.fn<() => Promise<typeof Chart>>();

/** Draw a page with a part at two places, until the part is there or is known to be missing. */
async function draw(Part: typeof Chart): Promise<string> {
  const now = (): string =>
    renderToString(
      <I18nProvider i18n={i18n}>
        <MantineProvider>
          <h1>The page</h1>
          {['memory', 'GPUs'].map((title) => (
            <Suspense key={title} fallback="Loading">
              <Part title={title} />
            </Suspense>
          ))}
        </MantineProvider>
      </I18nProvider>,
    );
  now();
  await new Promise((done) => setTimeout(done));
  return textOf(now());
}

beforeEach(() => {
  load.mockReset();
});

describe('an optional part of a page', () => {
  it('is loaded once, when it is first drawn', async () => {
    load.mockResolvedValue(Chart);
    const Part = lazyPart(load);
    expect(load).not.toHaveBeenCalled();
    expect(await draw(Part)).toBe('The page Chart of memory Chart of GPUs');
    expect(load).toHaveBeenCalledOnce();
  });

  it('leaves the rest of the page if it cannot be loaded', async () => {
    load.mockRejectedValue(MISSING);
    const text = await draw(lazyPart(load));
    expect(text).toContain('The page');
    expect(text.match(/couldn't be loaded/g)).toHaveLength(2);
  });

  it('is loaded again on request, at all its places', async () => {
    load.mockRejectedValueOnce(MISSING).mockResolvedValue(Chart);
    const Part = lazyPart(load);
    await draw(Part);
    clickRetry?.();
    expect(await draw(Part)).toBe('The page Chart of memory Chart of GPUs');
    expect(load).toHaveBeenCalledTimes(2);
  });

  it('stays missing while trying again fails', async () => {
    load.mockRejectedValue(MISSING);
    const Part = lazyPart(load);
    await draw(Part);
    clickRetry?.();
    expect(await draw(Part)).toContain("couldn't be loaded");
    expect(load).toHaveBeenCalledTimes(2);
  });
});
