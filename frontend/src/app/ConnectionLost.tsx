import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { queryClient } from '@/lib/queries';
import { liveStore, useLive } from '@/live/store';
import { Notice } from '@/ui/Notice';
import classes from './Banners.module.css';

/** Interruptions shorter than this are not shown. */
const GRACE_MS = 1500;
const TICK_MS = 1000;

/** Return whether the connection has been lost for longer than GRACE_MS. */
export function useConnectionLost(): boolean {
  const lost = useLive((s) => s.connection === 'lost');
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setShown(lost), lost ? GRACE_MS : 0);
    return () => window.clearTimeout(timer);
  }, [lost]);
  return lost && shown;
}

/**
 * Refetch a page's failed queries and outdated data once the connection is back.
 */
export function useRefetchOnReconnect(): void {
  const connection = useLive((s) => s.connection);
  const lost = useRef(false);
  useEffect(() => {
    if (connection === 'lost' || connection === 'ended') lost.current = true;
    if (connection !== 'open' || !lost.current) return;
    lost.current = false;
    void queryClient.invalidateQueries();
  }, [connection]);
}

function subscribeToNetwork(listener: () => void): () => void {
  window.addEventListener('online', listener);
  window.addEventListener('offline', listener);
  return () => {
    window.removeEventListener('online', listener);
    window.removeEventListener('offline', listener);
  };
}

const hasNoNetwork = (): boolean => !navigator.onLine;

/** Return the banner's text; `hasData`: the page shows data from before. */
function connectionText(offline: boolean, hasData: boolean): string {
  if (offline)
    return hasData
      ? t`Your device has no network connection. This is the last known state; your sessions and jobs keep running.`
      : t`Your device has no network connection, so there is nothing to show yet. Your sessions and jobs keep running.`;
  return hasData
    ? t`The portal doesn't answer. This is the last known state; your sessions and jobs keep running.`
    : t`The portal doesn't answer, so there is nothing to show yet. Your sessions and jobs keep running.`;
}

/** The banner of a lost connection, with the time of the next attempt. */
export function ConnectionLost() {
  const offline = useSyncExternalStore(subscribeToNetwork, hasNoNetwork);
  const hasData = useLive((s) => s.sessions !== null);
  return (
    <Notice tone="warning">
      <div className={classes.lost}>
        <span>{connectionText(offline, hasData)}</span>
        {!offline && <NextTry />}
      </div>
    </Notice>
  );
}

/** A countdown to the next attempt. Hidden from screen readers, which would read it every second. */
function NextTry() {
  const retryAt = useLive((s) => s.retryAt);
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), TICK_MS);
    return () => window.clearInterval(timer);
  }, []);
  const seconds = retryAt === null ? 0 : Math.ceil((retryAt - now) / 1000);
  return (
    <span className={classes.next}>
      <span aria-hidden="true">
        {seconds > 0 ? t`Trying again in ${seconds} s` : t`Trying again…`}
      </span>
      <Button variant="default" size="compact-sm" onClick={() => liveStore.reopen()}>
        <Trans>Try now</Trans>
      </Button>
    </span>
  );
}
