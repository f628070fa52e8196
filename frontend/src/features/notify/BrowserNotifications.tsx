import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { preferencesQuery } from '@/features/preferences/preferences';
import { clock } from '@/lib/clock';
import { useMe } from '@/lib/useMe';
import { useLive } from '@/live/store';
import { filterUnshown, showNotification, useNotifyState } from './browser';
import {
  expiryNotifications,
  newNotifications,
  nextWarning,
  type UserNotification,
} from './notifications';

const lockOf = (username: string): string => `portal-notifications ${username}`;
/** The longest delay of a browser's timer. */
const LONGEST_MS = 2 ** 31 - 1;

/** Return whether this tab notifies: of a user's tabs, the one that holds the lock until it closes. */
function useIsLeader(enabled: boolean, username: string): boolean {
  const [leads, setLeads] = useState(false);
  useEffect(() => {
    if (!enabled) return;
    const stop = new AbortController();
    navigator.locks
      .request(lockOf(username), { signal: stop.signal }, async () => {
        setLeads(true);
        await new Promise((resolve) => stop.signal.addEventListener('abort', resolve));
      })
      .catch((error: unknown) => {
        if (!stop.signal.aborted) throw error;
      });
    return () => {
      stop.abort();
      setLeads(false);
    };
  }, [enabled, username]);
  return enabled && leads;
}

/** Shows events as browser notifications, if the user has enabled them. */
export function BrowserNotifications() {
  const { username } = useMe();
  const on = useNotifyState(username) === 'on';
  const leads = useIsLeader(on, username);
  const { data: preferences } = useQuery({ ...preferencesQuery, enabled: on });
  const enabled = preferences?.notify.browser;
  const sessions = useLive((s) => s.sessions);
  const jobs = useLive((s) => s.jobs);
  const router = useRouter();
  const previous = useRef({ sessions, jobs });
  const firstAtMs = useRef<number | null>(null);
  /** incremented when the next warning is due */
  const [round, setRound] = useState(0);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new `round` recomputes the warnings
  useEffect(() => {
    const snapshot = { sessions, jobs };
    const now = clock.now();
    if (jobs !== null) firstAtMs.current ??= now;
    const events = newNotifications(previous.current, snapshot, firstAtMs.current ?? now);
    previous.current = snapshot;
    if (!leads || enabled === undefined) return;
    const notify = ({ to, ...content }: UserNotification): boolean =>
      showNotification(content, () => router.history.push(to));
    for (const notification of filterUnshown(
      [...events, ...expiryNotifications(snapshot, now)].filter(({ kind }) => enabled[kind]),
    ))
      notify(notification);
    const next = nextWarning(snapshot, now);
    if (next === null) return;
    const timer = window.setTimeout(
      () => setRound((n) => n + 1),
      Math.min(LONGEST_MS, next - now + 1),
    );
    return () => window.clearTimeout(timer);
  }, [sessions, jobs, leads, enabled, round, router]);
  return null;
}
