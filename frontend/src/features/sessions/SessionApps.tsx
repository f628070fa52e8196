import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { errorMessage } from '@/api/problem';
import type { App } from '@/api/types';
import { translateExact } from '@/i18n/translate';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { StateChip } from '@/ui/StateChip';
import { TryAgain } from '@/ui/TryAgain';
import { useAction } from '@/ui/useAction';
import { AppDialog } from './AppDialog';
import { appStateLabel, appsQuery, restartApp, startApp, stopApp } from './apps';
import classes from './SessionApps.module.css';

/** The apps that a running session offers: start, open, stop, and why one doesn't run. */
export function SessionApps({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(appsQuery(id));
  if (error && data === undefined)
    return <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />;
  if (data === undefined) return <p className={classes.note}>{t`Asking the session’s node…`}</p>;
  if (data.items.length === 0)
    return <p className={classes.note}>{t`This session’s environment offers no apps.`}</p>;
  return (
    <ul className={classes.apps} aria-label={t`Apps`}>
      {data.items.map((app) => (
        <li key={app.name}>
          <AppRow id={id} app={app} />
        </li>
      ))}
    </ul>
  );
}

function AppRow({ id, app }: { id: string; app: App }) {
  const failed = app.state === 'failed';
  const given = app.state === 'stopped' ? null : (app.file ?? app.command);
  return (
    <article className={classes.app} aria-label={translateExact(app.title)}>
      <div className={classes.head}>
        <h3>{translateExact(app.title)}</h3>
        <span aria-live="polite">
          <StateChip {...appStateLabel(app.state)} />
        </span>
      </div>
      <p className={classes.note}>{given ?? translateExact(app.description)}</p>
      {failed && app.problem && <Notice tone="error">{translateExact(app.problem)}</Notice>}
      {failed && <Output lines={app.log} />}
      <Actions id={id} app={app} />
    </article>
  );
}

/** The last lines that a failed app wrote. */
function Output({ lines }: { lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <section aria-label={t`Last output`}>
      <pre className={classes.log}>{lines.join('\n')}</pre>
    </section>
  );
}

function Actions({ id, app }: { id: string; app: App }) {
  const queries = useQueryClient();
  const [busy, run] = useAction();
  const [asking, setAsking] = useState(false);
  const refresh = () => queries.invalidateQueries(appsQuery(id));
  const act = (action: () => Promise<App>) => void run(() => action().finally(refresh));
  const alive = app.state === 'running' || app.state === 'starting';
  const start = () => (app.input ? setAsking(true) : act(() => startApp(id, app.name, {})));
  return (
    <div className={classes.actions}>
      {app.url && (
        <Button
          component="a"
          href={app.url}
          target="_blank"
          rel="noopener"
          leftSection={<Icon name="open" />}
        >
          <Trans>Open</Trans>
        </Button>
      )}
      {alive ? (
        <>
          <Button variant="default" loading={busy} onClick={() => act(() => stopApp(id, app.name))}>
            <Trans>Stop</Trans>
          </Button>
          <Button
            variant="default"
            loading={busy}
            onClick={() => act(() => restartApp(id, app.name))}
          >
            <Trans>Restart</Trans>
          </Button>
        </>
      ) : (
        <Button variant="default" loading={busy} onClick={start}>
          {app.input ? <Trans>Start…</Trans> : <Trans>Start</Trans>}
        </Button>
      )}
      {asking && (
        <AppDialog id={id} app={app} onClose={() => setAsking(false)} onStarted={refresh} />
      )}
    </div>
  );
}
