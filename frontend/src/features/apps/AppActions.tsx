import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { App } from '@/api/types';
import { exceptDoubleClick } from '@/ui/doubleClick';
import { Icon } from '@/ui/icons';
import { useAction } from '@/ui/useAction';
import { AppConfirm } from './AppConfirm';
import { AppDialog } from './AppDialog';
import { type AppCommand, appsQuery, startApp, stopOrRestartApp, withApp } from './apps';
import { isAlive } from './forFile';
import classes from './SessionApps.module.css';

type Asked = AppCommand | 'start' | null;
const COMMANDS: readonly AppCommand[] = ['stop', 'restart'];

/** The buttons of an app: open, start, stop, restart. */
export function AppActions({ id, app }: { id: string; app: App }) {
  const queries = useQueryClient();
  const [busy, run] = useAction();
  const [asked, ask] = useState<Asked>(null);
  const refresh = () => queries.invalidateQueries(appsQuery(id));
  // the list may take seconds, and the buttons are those of the app's state
  const show = (changed: App) =>
    queries.setQueryData(appsQuery(id).queryKey, (shown) => shown && withApp(shown, changed));
  const act = (action: () => Promise<App>) => action().then(show).finally(refresh);
  const started = (changed: App) => {
    show(changed);
    void refresh();
  };
  const close = () => ask(null);
  const alive = isAlive(app);
  const start = () =>
    app.input ? ask('start') : void run(() => act(() => startApp(id, app.name, {})));
  // an app that only starts has no work to lose
  const request = (command: AppCommand) =>
    app.state === 'running'
      ? ask(command)
      : void run(() => act(() => stopOrRestartApp(id, app.name, command)));
  return (
    <div className={classes.actions}>
      {app.url && <OpenApp url={app.url} />}
      {/* one button for both, so that the focus returns to it after the dialog */}
      <Button
        variant="default"
        loading={busy}
        onClick={exceptDoubleClick(alive ? () => request('stop') : start)}
      >
        {alive ? <Trans>Stop</Trans> : app.input ? <Trans>Start…</Trans> : <Trans>Start</Trans>}
      </Button>
      {alive && (
        <Button
          variant="default"
          loading={busy}
          onClick={exceptDoubleClick(() => request('restart'))}
        >
          <Trans>Restart</Trans>
        </Button>
      )}
      <AppDialog id={id} app={app} opened={asked === 'start'} onClose={close} onStarted={started} />
      {COMMANDS.map((command) => (
        <AppConfirm
          key={command}
          app={app}
          command={command}
          opened={asked === command}
          onClose={close}
          act={() => act(() => stopOrRestartApp(id, app.name, command))}
        />
      ))}
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
