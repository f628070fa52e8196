import { i18n } from '@lingui/core';
import { I18nProvider } from '@lingui/react';
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { renderToString } from 'react-dom/server';
import { describe, expect, it } from 'vitest';
import type { App, Session } from '@/api/types';
import { names, textOf, withRole } from '@/testing/markup';
import { stoppedApp } from '@/testing/stoppedApp';
import { AppOpening } from './AppOpening';
import { appsQuery } from './apps';

const APP: App = { ...stoppedApp, name: 'vscode', title: 'VS Code' };

/** Render it for a session with these apps; null while its server was not asked. */
function render(items: App[] | null, state: Session['state'] = 'running'): string {
  i18n.load('en', {});
  i18n.activate('en');
  const client = new QueryClient();
  if (items) client.setQueryData(appsQuery('1').queryKey, { items });
  return renderToString(
    <I18nProvider i18n={i18n}>
      <MantineProvider>
        <QueryClientProvider client={client}>
          <AppOpening
            session={{ id: '1', state }}
            openWith={{ name: 'vscode', title: 'VS Code' }}
          />
        </QueryClientProvider>
      </MantineProvider>
    </I18nProvider>,
  );
}

const status = (markup: string): string => withRole(markup, 'status').join();

describe('an app that opens instead of JupyterLab', () => {
  it('waits for the session, then for the app', () => {
    expect(status(render(null, 'starting'))).toBe('');
    for (const items of [null, [APP], [{ ...APP, state: 'starting' } as const]]) {
      const markup = render(items);
      expect(status(markup)).toContain('VS Code is starting…');
      expect(names(markup, 'button')).toEqual([]);
    }
  });

  it('that failed before a reload shows why, and can be started again', () => {
    const problem = 'It ended with status 4.';
    const markup = render([{ ...APP, state: 'failed', problem, log: ['the reason'] }]);
    expect(withRole(markup, 'alert').join()).toContain(problem);
    expect(textOf(markup)).toContain("VS Code isn't running");
    expect(textOf(markup)).toContain('the reason');
    expect(status(markup)).toBe('');
    expect(names(markup, 'button')).toEqual(['Start VS Code again']);
  });

  it('that the session does not offer is reported', () => {
    for (const items of [[], [{ ...APP, input: 'file' } as const]]) {
      const markup = render(items);
      expect(withRole(markup, 'alert').join()).toContain("This session doesn't offer VS Code.");
      expect(status(markup)).toBe('');
    }
  });
});
