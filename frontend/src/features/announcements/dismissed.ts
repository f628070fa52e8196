/** The announcements that the user of this browser has dismissed; the same in all tabs. */
import { useCallback, useMemo } from 'react';
import { useStoredText } from '@/lib/storedText';
import { readDismissed, withDismissed } from './current';

const PREFIX = 'portal-announcements-put-away:';

export function useDismissed(username: string): [ReadonlySet<string>, (key: string) => void] {
  const [stored, change] = useStoredText(PREFIX + username);
  const dismissedKeys = useMemo(() => new Set(readDismissed(stored)), [stored]);
  const putAway = useCallback(
    (text: string) => change((now) => JSON.stringify(withDismissed(readDismissed(now), text))),
    [change],
  );
  return [dismissedKeys, putAway];
}
