/** The clock of the times on the pages: this browser's choice. */
import { readStored, writeStored } from '@/lib/storage';
import { CLOCKS, type ClockFormat } from './language';

const CLOCK_KEY = 'portal-clock';

/** Return the chosen clock; null: that of the browser's region. */
export function storedClock(): ClockFormat | null {
  const value = readStored(CLOCK_KEY);
  return CLOCKS.find((clock) => clock === value) ?? null;
}

/** Store the clock; return false if the browser's storage is disabled. */
export const storeClock = (clock: ClockFormat | null): boolean => writeStored(CLOCK_KEY, clock);
