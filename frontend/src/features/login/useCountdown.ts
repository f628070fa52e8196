import { useEffect, useState } from 'react';

/** Return the whole seconds left until `untilMs` (by this browser's clock), 0 after it. */
export function useCountdown(untilMs: number | null): number {
  const [now, setNow] = useState(() => Date.now());
  const left = untilMs === null ? 0 : Math.max(0, Math.ceil((untilMs - now) / 1000));
  const counting = untilMs !== null && left > 0;
  useEffect(() => {
    if (!counting) return;
    setNow(Date.now());
    const timer = window.setInterval(() => setNow(Date.now()), 1000);
    return () => window.clearInterval(timer);
  }, [counting]);
  return left;
}
