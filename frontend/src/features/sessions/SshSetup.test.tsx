import { i18n } from '@lingui/core';
import { I18nProvider } from '@lingui/react';
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { renderToString } from 'react-dom/server';
import { describe, expect, it } from 'vitest';
import type { Ssh } from '@/api/types';
import { tokensQuery } from '@/features/tokens/tokens';
import { names, textOf } from '@/testing/markup';
import { sshQuery } from './queries';
import { SshSetup } from './SshSetup';

const SSH: Ssh = {
  problem: null,
  host: 's1.portal.example.org',
  config: 'Host *.portal.example.org\n    User alice\n',
  command: 'ssh s1.portal.example.org',
  host_key: 'ssh-ed25519 AAAA',
  editor_link: 'vscode://vscode-remote/ssh-remote+s1.portal.example.org/home/alice',
};

function setup(ssh: Ssh): string {
  i18n.load('en', {});
  i18n.activate('en');
  const client = new QueryClient();
  client.setQueryData(sshQuery('1').queryKey, ssh);
  client.setQueryData(tokensQuery.queryKey, { items: [], max_days: 365 });
  return renderToString(
    <I18nProvider i18n={i18n}>
      <MantineProvider>
        <QueryClientProvider client={client}>
          <SshSetup id="1" />
        </QueryClientProvider>
      </MantineProvider>
    </I18nProvider>,
  );
}

describe('the setup of SSH', () => {
  it('shows the steps, the command and a link to the editor', () => {
    const markup = setup(SSH);
    expect(textOf(markup)).toContain('Host *.portal.example.org');
    expect(textOf(markup)).toContain(SSH.command);
    expect(names(markup, 'button')).toContain('Create an access token for SSH…');
    expect(names(markup, 'a')).toContain('Open in VS Code');
    expect(markup).toContain('href="/api/v1/ssh/portal_ssh.py"');
  });

  it('shows the reason if SSH is not available, and no steps', () => {
    const markup = setup({ ...SSH, problem: 'SSH is disabled on this site.' });
    expect(textOf(markup)).toContain('SSH is disabled on this site.');
    expect(textOf(markup)).not.toContain(SSH.command);
  });

  it('has no link to an editor without the home directory', () => {
    expect(names(setup({ ...SSH, editor_link: null }), 'a')).not.toContain('Open in VS Code');
  });
});
