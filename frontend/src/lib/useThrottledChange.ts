import { useEffect, useMemo, useRef } from 'react';
import { growingPause, throttle } from './throttle';

/** Run `action` when `value` changes, less often while it changes often. `value` is undefined until
 * it is known; the first known value doesn't count as a change. `action` must be the same function
 * each time. */
export function useThrottledChange(
  value: string | undefined,
  action: () => Promise<unknown>,
): void {
  const throttled = useMemo(() => throttle(action, growingPause), [action]);
  useEffect(() => throttled.stop, [throttled]);
  const before = useRef(value);
  useEffect(() => {
    if (before.current === value) return;
    const isFirst = before.current === undefined;
    before.current = value;
    if (!isFirst) throttled.request();
  }, [value, throttled]);
}
