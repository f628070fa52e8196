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
/** The longest that a browser's timer can wait. */
const LONGEST_MS = 2 ** 31 - 1;

/** One tab of a user's browser notifies: the one that holds the lock, until it closes. */
function useLeads(wanted: boolean, username: string): boolean {
  const [leads, setLeads] = useState(false);
  useEffect(() => {
    if (!wanted) return;
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
  }, [wanted, username]);
  return wanted && leads;
}

/** Shows events as browser notifications, if the user has turned them on. */
export function BrowserNotifications() {
  const { username } = useMe();
  const on = useNotifyState(username) === 'on';
  const leads = useLeads(on, username);
  const { data: preferences } = useQuery({ ...preferencesQuery, enabled: on });
  const wanted = preferences?.notify.browser;
  const sessions = useLive((s) => s.sessions);
  const jobs = useLive((s) => s.jobs);
  const router = useRouter();
  const before = useRef({ sessions, jobs });
  const first = useRef<number | null>(null);
  /** goes up when the next warning is due */
  const [round, setRound] = useState(0);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `look` only says to look again
  useEffect(() => {
    const picture = { sessions, jobs };
    const now = clock.now();
    if (jobs !== null) first.current ??= now;
    const news = newNotifications(before.current, picture, first.current ?? now);
    before.current = picture;
    if (!leads || wanted === undefined) return;
    const notify = ({ to, ...one }: UserNotification): boolean =>
      showNotification(one, () => router.history.push(to));
    for (const one of filterUnshown(
      [...news, ...expiryNotifications(picture, now)].filter(({ kind }) => wanted[kind]),
    ))
      notify(one);
    const next = nextWarning(picture, now);
    if (next === null) return;
    const timer = window.setTimeout(
      () => setRound((n) => n + 1),
      Math.min(LONGEST_MS, next - now + 1),
    );
    return () => window.clearTimeout(timer);
  }, [sessions, jobs, leads, wanted, round, router]);
  return null;
}
