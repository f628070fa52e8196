import { i18n } from '@lingui/core';
import { I18nProvider } from '@lingui/react';
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import type { MouseEvent } from 'react';
import { renderToString } from 'react-dom/server';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { App } from '@/api/types';
import { stoppedApp } from '@/testing/stoppedApp';
import { AppActions } from './AppActions';
import { startApp, stopOrRestartApp } from './apps';

type OnClick = (event: Pick<MouseEvent, 'detail'>) => void;
const clicks: OnClick[] = [];
vi.mock(import('@mantine/core'), async (original) => {
  const Button = ({ onClick }: { onClick: OnClick }) => {
    clicks.push(onClick);
    return null;
  };
  return { ...(await original()), Button } as unknown as Awaited<ReturnType<typeof original>>;
});
vi.mock(import('./apps'), async (original) => ({
  ...(await original()),
  startApp: vi.fn<typeof startApp>(),
  stopOrRestartApp: vi.fn<typeof stopOrRestartApp>(),
}));

/** Return the handlers of the buttons' clicks. */
function draw(app: App): OnClick[] {
  i18n.load('en', {});
  i18n.activate('en');
  clicks.length = 0;
  renderToString(
    <I18nProvider i18n={i18n}>
      <MantineProvider>
        <QueryClientProvider client={new QueryClient()}>
          <AppActions id="1" app={app} />
        </QueryClientProvider>
      </MantineProvider>
    </I18nProvider>,
  );
  return [...clicks];
}

beforeEach(() => {
  vi.stubGlobal('document', { activeElement: null, body: {} });
  vi.stubGlobal('window', { requestAnimationFrame: () => 0 });
  vi.mocked(startApp).mockReset().mockResolvedValue(stoppedApp);
  vi.mocked(stopOrRestartApp).mockReset().mockResolvedValue(stoppedApp);
});

describe('the buttons of an app', () => {
  it('start it once on a double click, although Start becomes Stop', () => {
    const [start] = draw(stoppedApp);
    start?.({ detail: 1 });
    expect(startApp).toHaveBeenCalledOnce();
    const [stop, restart] = draw({ ...stoppedApp, state: 'starting' });
    stop?.({ detail: 2 });
    restart?.({ detail: 2 });
    expect(stopOrRestartApp).not.toHaveBeenCalled();
    stop?.({ detail: 1 });
    expect(stopOrRestartApp).toHaveBeenCalledWith('1', 'demo', 'stop');
  });
});
