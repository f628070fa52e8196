import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Group, Text } from '@mantine/core';
import { useEffect, useRef } from 'react';
import type { App } from '@/api/types';
import { translateExact } from '@/i18n/translate';
import { exceptDoubleClick } from '@/ui/doubleClick';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { AppProgress } from './AppProgress';
import { startApp } from './apps';
import { isAlive } from './forFile';
import { openTab } from './openTab';
import { useAppStart } from './useAppStart';

interface Props {
  id: string;
  /** as the session's server last described it */
  app: App;
  file: string;
  onClose: () => void;
}

/** Starts an app with a file and opens its page as soon as it is ready. */
export function AppStart({ id, app, file, onClose }: Props) {
  const busy = isAlive(app) && app.file !== file;
  // the other file's app is only stopped if this one can be started
  const { phase, refusal, start } = useAppStart(id, () => startApp(id, app.name, { file }, busy));
  const requested = phase !== 'none';
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
      <AppProgress
        title={translateExact(app.title)}
        refusal={refusal}
        waiting={waiting}
        ended={over ? app : null}
      >
        {requested && ready && (
          <Text size="sm">{t`It is ready. Your browser didn't open its page by itself.`}</Text>
        )}
      </AppProgress>
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

/** Open the page once; a browser that blocks it leaves that to the button. */
function useOpened(url: string | null, onClose: () => void): void {
  const tried = useRef(false);
  useEffect(() => {
    if (url === null || tried.current) return;
    tried.current = true;
    if (openTab(url)) onClose();
  }, [url, onClose]);
}
