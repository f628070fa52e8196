import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { queryClient } from '@/lib/queries';
import { live, useLive } from '@/live/store';
import { Notice } from '@/ui/Notice';
import classes from './Banners.module.css';

/** A connection that is back within this time isn't worth a word. */
const GRACE_MS = 1500;
const TICK_MS = 1000;

/** Whether the link has been lost for longer than a blink. */
export function useConnectionLost(): boolean {
  const lost = useLive((s) => s.link === 'lost');
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setShown(lost), lost ? GRACE_MS : 0);
    return () => window.clearTimeout(timer);
  }, [lost]);
  return lost && shown;
}

/**
 * Refetch everything that a page shows once the connection is back: failed queries and data that
 * may have changed.
 */
export function useRefetchOnReconnect(): void {
  const link = useLive((s) => s.link);
  const lost = useRef(false);
  useEffect(() => {
    if (link === 'lost' || link === 'ended') lost.current = true;
    if (link !== 'open' || !lost.current) return;
    lost.current = false;
    void queryClient.invalidateQueries();
  }, [link]);
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

/** `known`: something has come before that the page still shows. */
function connectionText(offline: boolean, known: boolean): string {
  if (offline)
    return known
      ? t`Your device has no network connection. This is the last known state; your sessions and jobs keep running.`
      : t`Your device has no network connection, so there is nothing to show yet. Your sessions and jobs keep running.`;
  return known
    ? t`The portal doesn't answer. This is the last known state; your sessions and jobs keep running.`
    : t`The portal doesn't answer, so there is nothing to show yet. Your sessions and jobs keep running.`;
}

/** That nothing new reaches this page, and when that is tried again. */
export function ConnectionLost() {
  const offline = useSyncExternalStore(subscribeToNetwork, hasNoNetwork);
  const known = useLive((s) => s.sessions !== null);
  return (
    <Notice tone="warning">
      <div className={classes.lost}>
        <span>{connectionText(offline, known)}</span>
        {!offline && <NextTry />}
      </div>
    </Notice>
  );
}

/** Counts down to the next attempt: for eyes only, or a screen reader would never stop. */
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
      <Button variant="default" size="compact-sm" onClick={() => live.reopen()}>
        <Trans>Try now</Trans>
      </Button>
    </span>
  );
}
