/** Formats of sizes. Units are powers of 1024, like those of `ls -h`, `quota` and Slurm. Pure. */
import { t } from '@lingui/core/macro';

const UNITS = ['KB', 'MB', 'GB', 'TB', 'PB'] as const;

type Unit = (typeof UNITS)[number];

/** Format a value in the largest unit up to `last` in which it is at least 1; with one decimal below
 * 100. */
function scaled(value: number, unit: Unit, last: Unit): string {
  let index = UNITS.indexOf(unit);
  let rest = value;
  while (rest >= 1023.5 && index < UNITS.indexOf(last)) {
    rest /= 1024;
    index += 1;
  }
  return `${rest < 99.95 ? Number(rest.toFixed(1)) : Math.round(rest)} ${UNITS[index]}`;
}

/** Format a size: "0 bytes", "812 bytes", "1.4 KB", "23 GB". */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? t`1 byte` : t`${bytes} bytes`;
  return scaled(bytes / 1024, 'KB', 'PB');
}

/** Format an amount of memory: "307 MB", "1.5 GB", "1100 GB". Never in TB: Slurm's limits are exact
 * numbers of GB. */
export const memoryText = (gb: number): string => scaled(gb * 1024, 'MB', 'GB');
