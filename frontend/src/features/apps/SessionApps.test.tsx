import { i18n } from '@lingui/core';
import { I18nProvider } from '@lingui/react';
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { renderToString } from 'react-dom/server';
import { describe, expect, it } from 'vitest';
import type { App } from '@/api/types';
import { names, textOf } from '@/testing/markup';
import { stoppedApp } from '@/testing/stoppedApp';
import { appsQuery, refetchMs } from './apps';
import { SessionApps } from './SessionApps';

const APP: App = {
  ...stoppedApp,
  name: 'own',
  title: 'Your own web app',
  description: 'Any program of yours.',
  input: 'command',
};

function render(...items: App[]): string {
  i18n.load('en', {});
  i18n.activate('en');
  const client = new QueryClient();
  client.setQueryData(appsQuery('1').queryKey, { items });
  return renderToString(
    <I18nProvider i18n={i18n}>
      <MantineProvider>
        <QueryClientProvider client={client}>
          <SessionApps id="1" />
        </QueryClientProvider>
      </MantineProvider>
    </I18nProvider>,
  );
}

describe('the apps of a session', () => {
  it('can be started, and ask for their input first', () => {
    const markup = render(APP, { ...APP, name: 'plain', title: 'Plain', input: null });
    expect(names(markup, 'button')).toEqual(['Start…', 'Start']);
    expect(textOf(markup)).toContain('Any program of yours.');
  });

  it('are opened at their address while they run', () => {
    const url = 'https://jupyter.test/user/alice/s1/app/own/';
    const markup = render({ ...APP, state: 'running', command: 'serve', url });
    expect(markup).toContain(`href="${url}"`);
    expect(names(markup, 'button')).toEqual(['Stop', 'Restart']);
    expect(textOf(markup)).toContain('serve');
  });

  it('show why they failed, and their output as text', () => {
    const problem = 'It ended with status 4.';
    const markup = render({ ...APP, state: 'failed', problem, log: ['<b>no</b>', 'last'] });
    expect(textOf(markup)).toContain(problem);
    expect(markup).toContain('&lt;b&gt;no&lt;/b&gt;');
    expect(names(markup, 'button')).toEqual(['Start…']);
  });

  it('are asked for more often while one starts', () => {
    const seldom = refetchMs([APP]);
    expect(refetchMs(undefined)).toBe(seldom);
    expect(refetchMs([APP, { ...APP, state: 'starting' }])).toBeLessThan(seldom);
  });
});
