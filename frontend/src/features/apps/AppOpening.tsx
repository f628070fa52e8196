import { t } from '@lingui/core/macro';
import { Button, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { errorMessage } from '@/api/problem';
import type { Session } from '@/api/types';
import { translateExact } from '@/i18n/translate';
import { exceptDoubleClick } from '@/ui/doubleClick';
import { Notice } from '@/ui/Notice';
import { TryAgain } from '@/ui/TryAgain';
import { AppProgress } from './AppProgress';
import { appsQuery, startApp } from './apps';
import { isAlive } from './forFile';
import type { OpenWith } from './openWith';
import { useAppStart } from './useAppStart';

interface Props {
  session: Pick<Session, 'id' | 'state'>;
  openWith: OpenWith;
}

/** Starts an app once the session runs, and opens its page in this tab as soon as it is ready. */
export function AppOpening({ session: { id, state }, openWith: { name, title } }: Props) {
  const runs = state === 'running';
  const { data, error, refetch } = useQuery({ ...appsQuery(id), enabled: runs });
  const offered = runs ? data?.items : undefined;
  const app = offered?.find((each) => each.name === name && each.input === null);
  const { phase, refusal, start } = useAppStart(id, () => startApp(id, name, {}));
  const isUnavailable = offered !== undefined && app === undefined;
  const isDown = app !== undefined && !isAlive(app) && phase !== 'sending';
  // After a reload, the app may have failed before.
  const isOver = isDown && (phase === 'sent' || app.state === 'failed');
  const [canRetry, setCanRetry] = useState(false);
  if (isOver && !canRetry) setCanRetry(true);
  useOnce(isDown && !isOver, () => void start());
  useReplacePage(app?.state === 'running' && phase !== 'sending' ? app.url : null);
  const shown = translateExact(title);
  return (
    <Stack gap="sm">
      {runs && error && <TryAgain error={errorMessage(error)} onRetry={() => void refetch()} />}
      {isUnavailable && (
        <Notice tone="warning" urgent>
          {t`This session doesn't offer ${{ app: shown }}. Open JupyterLab instead.`}
        </Notice>
      )}
      {isOver && <Text fw={600}>{t`${{ app: shown }} isn't running`}</Text>}
      <AppProgress
        title={shown}
        refusal={isOver ? refusal : null}
        waiting={runs && !isUnavailable && !isOver && (offered !== undefined || error === null)}
        ended={isOver && refusal === null ? app : null}
      />
      {canRetry && (
        <Button
          variant="default"
          w="fit-content"
          loading={!isOver}
          onClick={exceptDoubleClick(() => void start())}
        >
          {t`Start ${{ app: shown }} again`}
        </Button>
      )}
    </Stack>
  );
}

/** Act once, as soon as it is due. */
function useOnce(isDue: boolean, act: () => void): void {
  const done = useRef(false);
  useEffect(() => {
    if (!isDue || done.current) return;
    done.current = true;
    act();
  });
}

/** Open an address in place of this page, so that Back leads to the page before. */
function useReplacePage(url: string | null | undefined): void {
  useEffect(() => {
    if (url) window.location.replace(url);
  }, [url]);
}
