/** Words and shares for sizes. Sizes are bytes, shown in units of 1024 as `ls -h` and `quota` do. */
import type { Root } from './shapes';

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** "0 bytes", "812 bytes", "1.4 KiB", "23 GiB". */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  let value = bytes;
  let unit = -1;
  do {
    value /= 1024;
    unit += 1;
  } while (value >= 1023.5 && unit < UNITS.length - 1);
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

export interface Room {
  text: string;
  /** used, of 100; null where only the free space is known */
  percent: number | null;
  /** how urgent it is to tidy up */
  level: 'fine' | 'tight' | 'full';
}

const TIGHT = 90;

const levelOf = (percent: number): Room['level'] =>
  percent >= 100 ? 'full' : percent >= TIGHT ? 'tight' : 'fine';

/** How much room there is: the quota where there is one, since it ends first; else the disk. */
export function roomOf(root: Pick<Root, 'quota' | 'free_bytes' | 'total_bytes'>): Room | null {
  const { quota, free_bytes: free, total_bytes: total } = root;
  if (quota?.limit_bytes) return quotaRoom(quota.used_bytes, quota.limit_bytes, quota);
  if (free === null) return null;
  if (!total) return { text: `${sizeText(free)} free`, percent: null, level: 'fine' };
  const percent = Math.min(100, Math.round(((total - free) / total) * 100));
  return {
    text: `${sizeText(free)} free of ${sizeText(total)}`,
    percent,
    level: free === 0 ? 'full' : levelOf(Math.min(percent, 99)),
  };
}

function quotaRoom(
  used: number,
  limit: number,
  { used_files, limit_files }: NonNullable<Root['quota']>,
): Room {
  const text = `${sizeText(used)} used of ${sizeText(limit)}`;
  const ofBytes = Math.min(100, Math.floor((used / limit) * 100));
  if (!used_files || !limit_files) return { text, percent: ofBytes, level: levelOf(ofBytes) };
  const ofFiles = Math.min(100, Math.floor((used_files / limit_files) * 100));
  const files = `${used_files.toLocaleString('en')} of ${limit_files.toLocaleString('en')} files`;
  return {
    text: ofFiles > ofBytes ? `${text}, ${files}` : text,
    percent: Math.max(ofBytes, ofFiles),
    level: levelOf(Math.max(ofBytes, ofFiles)),
  };
}
