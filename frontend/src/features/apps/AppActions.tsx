import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { App } from '@/api/types';
import { Icon } from '@/ui/icons';
import { useAction } from '@/ui/useAction';
import { AppConfirm } from './AppConfirm';
import { AppDialog } from './AppDialog';
import { type AppEnd, appsQuery, endApp, startApp } from './apps';
import { isAlive } from './forFile';
import classes from './SessionApps.module.css';

type Asked = AppEnd | 'start' | null;

/** The buttons of an app: open, start, stop, restart. */
export function AppActions({ id, app }: { id: string; app: App }) {
  const queries = useQueryClient();
  const [busy, run] = useAction();
  const [asked, ask] = useState<Asked>(null);
  const refresh = () => queries.invalidateQueries(appsQuery(id));
  const act = (action: () => Promise<App>) => action().finally(refresh);
  const start = () =>
    app.input ? ask('start') : void run(() => act(() => startApp(id, app.name, {})));
  // an app that only starts has no work to lose
  const end = (how: AppEnd) =>
    app.state === 'running' ? ask(how) : void run(() => act(() => endApp(id, app.name, how)));
  return (
    <div className={classes.actions}>
      {app.url && <OpenApp url={app.url} />}
      {isAlive(app) ? (
        <>
          <Button variant="default" loading={busy} onClick={() => end('stop')}>
            <Trans>Stop</Trans>
          </Button>
          <Button variant="default" loading={busy} onClick={() => end('restart')}>
            <Trans>Restart</Trans>
          </Button>
        </>
      ) : (
        <Button variant="default" loading={busy} onClick={start}>
          {app.input ? <Trans>Start…</Trans> : <Trans>Start</Trans>}
        </Button>
      )}
      {asked === 'start' && (
        <AppDialog id={id} app={app} onClose={() => ask(null)} onStarted={refresh} />
      )}
      {(asked === 'stop' || asked === 'restart') && (
        <AppConfirm
          app={app}
          end={asked}
          onClose={() => ask(null)}
          act={() => act(() => endApp(id, app.name, asked))}
        />
      )}
    </div>
  );
}

function OpenApp({ url }: { url: string }) {
  return (
    <Button
      component="a"
      href={url}
      target="_blank"
      rel="noopener"
      leftSection={<Icon name="open" />}
    >
      <Trans>Open</Trans>
    </Button>
  );
}
