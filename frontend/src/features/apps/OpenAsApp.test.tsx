import { i18n } from '@lingui/core';
import { I18nProvider } from '@lingui/react';
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { renderToString } from 'react-dom/server';
import { describe, expect, it, vi } from 'vitest';
import type { App, CatalogApp } from '@/api/types';
import { names, textOf } from '@/testing/markup';
import { stoppedApp } from '@/testing/stoppedApp';
import { AppStart } from './AppStart';
import { appsQuery, catalogAppsQuery } from './apps';
import { OpenAsApp } from './OpenAsApp';
import { OpenAsAppForm } from './OpenAsAppForm';
import { RunningApps } from './RunningApps';

// A dialog is drawn in the document, which is missing here.
vi.mock(import('@/ui/ConfirmDialog'), async (original) => ({
  ...(await original()),
  DialogShell: ({ children }: { children: ReactNode }) => <div>{children}</div>,
}));

const MARIMO: CatalogApp = {
  name: 'marimo',
  title: 'marimo',
  description: '',
  input: 'file',
  extensions: ['.py'],
  environments: ['python3'],
};
const APP: App = { ...stoppedApp, ...MARIMO };
const URL = 'https://jupyter.test/user/alice/s1/app/marimo/';
const FILE = '/home/alice/demo.py';

function render(part: ReactNode, items: App[] = []): string {
  i18n.load('en', {});
  i18n.activate('en');
  const client = new QueryClient();
  client.setQueryData(catalogAppsQuery.queryKey, [MARIMO]);
  client.setQueryData(appsQuery('1').queryKey, { items });
  return renderToString(
    <I18nProvider i18n={i18n}>
      <MantineProvider>
        <QueryClientProvider client={client}>{part}</QueryClientProvider>
      </MantineProvider>
    </I18nProvider>,
  );
}

describe('opening a file as an app', () => {
  it('is offered for files that an app of the site opens', () => {
    expect(names(render(<OpenAsApp path={FILE} />), 'button')).toEqual(['Open as app…']);
    expect(names(render(<OpenAsApp path="/home/alice/.py/notes.txt" />), 'button')).toEqual([]);
  });

  it('shows that its dialog is loading', () => {
    expect(render(<OpenAsApp path={FILE} />)).toContain('role="status" aria-label="Loading"');
    const form = <OpenAsAppForm path={FILE} name="demo.py" onClose={() => {}} />;
    expect(render(form)).toContain('role="status" aria-label="Loading"');
  });

  const started = (app: App) =>
    render(<AppStart id="1" app={app} file={FILE} onClose={() => {}} />);

  it('says what is lost if the app runs with another file', () => {
    const markup = started({ ...APP, state: 'running', file: '/home/alice/old.py', url: URL });
    expect(textOf(markup)).toContain('It runs with /home/alice/old.py.');
    expect(names(markup, 'button')).toEqual(['Cancel', 'Stop it and open']);
    expect(markup).not.toContain(URL);
  });

  it('leads to the app that runs with this file', () => {
    const markup = started({ ...APP, state: 'running', file: FILE, url: URL });
    expect(markup).toContain(`href="${URL}"`);
    expect(names(markup, 'a')).toEqual(['Open']);
  });

  it('does not show why an earlier start failed', () => {
    const markup = started({ ...APP, state: 'failed', problem: 'It ended with status 4.' });
    expect(textOf(markup)).not.toContain('status 4');
    expect(names(markup, 'button')).toEqual(['Cancel', 'Open']);
  });
});

describe('the running apps of a session', () => {
  it('are links to their pages', () => {
    const running: App = { ...APP, title: 'MLflow', state: 'running', url: URL };
    const markup = render(<RunningApps id="1" session="s1" />, [
      running,
      { ...APP, name: 'own', title: 'Own' },
    ]);
    expect(names(markup, 'ul')).toEqual(['Running apps of s1']);
    expect(names(markup, 'a')).toEqual(['Open MLflow']);
    expect(render(<RunningApps id="1" session="s1" />, [APP])).not.toContain('<ul');
  });
});
