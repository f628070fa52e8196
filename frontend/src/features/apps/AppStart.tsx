import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Loader, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { errorMessage } from '@/api/problem';
import type { App } from '@/api/types';
import { translateExact } from '@/i18n/translate';
import { exceptDoubleClick } from '@/ui/doubleClick';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { AppFailure } from './AppFailure';
import { appsQuery, startApp, withApp } from './apps';
import { isAlive } from './forFile';
import { openTab } from './openTab';

interface Props {
  id: string;
  /** as the session's server last described it */
  app: App;
  file: string;
  onClose: () => void;
}

/** Starts an app with a file and opens its page as soon as it is ready. */
export function AppStart({ id, app, file, onClose }: Props) {
  const { phase, refusal, start } = useStart(id, app, file);
  const requested = phase !== 'none';
  const busy = isAlive(app) && app.file !== file;
  const ready = app.state === 'running' && !busy && phase !== 'sending' ? (app.url ?? null) : null;
  const waiting = phase === 'sending' || (phase === 'sent' && app.state === 'starting');
  const over = phase === 'sent' && refusal === null && !isAlive(app);
  useOpened(requested ? ready : null, onClose);
  return (
    <>
      {busy && !waiting && (
        <Notice tone="warning">
          <Trans>
            It runs with {{ file: app.file ?? '' }}. Opening this file stops it, and what isn't
            saved in it is lost.
          </Trans>
        </Notice>
      )}
      {refusal && <Notice tone="error">{refusal}</Notice>}
      {over && app.state === 'failed' && <AppFailure app={app} />}
      {over && app.state === 'stopped' && (
        <Notice tone="error">{t`It was stopped before it was ready.`}</Notice>
      )}
      <Group role="status" gap="sm">
        {waiting && (
          <>
            <Loader size="sm" aria-hidden="true" />
            <Text size="sm">{t`${{ title: translateExact(app.title) }} is starting…`}</Text>
          </>
        )}
        {requested && ready && (
          <Text size="sm">{t`It is ready. Your browser didn't open its page by itself.`}</Text>
        )}
      </Group>
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          {requested ? t`Close` : t`Cancel`}
        </Button>
        {ready ? (
          <Button
            component="a"
            href={ready}
            target="_blank"
            rel="noopener"
            leftSection={<Icon name="open" />}
            onClick={onClose}
          >
            <Trans>Open</Trans>
          </Button>
        ) : (
          <Button loading={waiting} onClick={exceptDoubleClick(() => void start())}>
            {busy ? t`Stop it and open` : over ? t`Start again` : t`Open`}
          </Button>
        )}
      </Group>
    </>
  );
}

type Phase = 'none' | 'sending' | 'sent';

/** Return how far this dialog's request is, why it was refused, and a function that sends it. */
function useStart(id: string, app: App, file: string) {
  const queries = useQueryClient();
  const [phase, setPhase] = useState<Phase>('none');
  const [refusal, setRefusal] = useState<string | null>(null);
  const start = async (): Promise<void> => {
    setPhase('sending');
    setRefusal(null);
    try {
      // the other file's app is only stopped if this one can be started
      const replace = isAlive(app) && app.file !== file;
      const started = await startApp(id, app.name, { file }, replace);
      queries.setQueryData(appsQuery(id).queryKey, (shown) => shown && withApp(shown, started));
    } catch (error) {
      setRefusal(errorMessage(error));
    } finally {
      await queries.invalidateQueries(appsQuery(id));
      setPhase('sent');
    }
  };
  return { phase, refusal, start };
}

/** Open the page once; a browser that blocks it leaves that to the button. */
function useOpened(url: string | null, onClose: () => void): void {
  const tried = useRef(false);
  useEffect(() => {
    if (url === null || tried.current) return;
    tried.current = true;
    if (openTab(url)) onClose();
  }, [url, onClose]);
}
