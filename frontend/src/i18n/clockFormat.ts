/** The clock of the times on the pages: this browser's choice. */
import { CLOCKS, type ClockFormat } from './language';

const CLOCK_KEY = 'portal-clock';

/** Return the chosen clock; null: that of the browser's region. */
export function storedClock(): ClockFormat | null {
  try {
    const value = window.localStorage.getItem(CLOCK_KEY);
    return CLOCKS.find((clock) => clock === value) ?? null;
  } catch {
    return null; // storage is disabled
  }
}

/** Store the clock; return false if the browser's storage is disabled. */
export function storeClock(clock: ClockFormat | null): boolean {
  try {
    if (clock === null) window.localStorage.removeItem(CLOCK_KEY);
    else window.localStorage.setItem(CLOCK_KEY, clock);
    return true;
  } catch {
    return false;
  }
}
