/** The storage of a root as text and in percent. Pure. */
import { t } from '@lingui/core/macro';
import { countText } from '@/lib/countText';
import { sizeText } from '@/lib/sizes';
import type { Space } from './types';

/** The fill level of a disk or quota. */
type Level = 'fine' | 'tight' | 'full';

/** The used part of a disk or quota, as a sentence and in percent. */
export interface Measure {
  text: string;
  percent: number;
  level: Level;
}

/** A root's storage: the whole disk, and the user's quota. */
export interface StorageRoom {
  disk: Measure | null;
  /** null without a quota, or if it is unknown; `quotaText` distinguishes them */
  quota: Measure | null;
  /** null if the quota is unknown */
  quotaText: string | null;
  level: Level;
}

const TIGHT = 90;
const LEVELS: readonly Level[] = ['fine', 'tight', 'full'];

/** Return a root's storage; null: nothing is known. */
export function roomOf({ quota, free_bytes: free, total_bytes: total }: Space): StorageRoom | null {
  if (free === null || total === null) return null;
  const disk = total > 0 ? diskRoom(free, total) : null;
  const own = quota ? quotaRoom(quota) : null;
  const levels = [disk, own].map((measure) => LEVELS.indexOf(measure?.level ?? 'fine'));
  return {
    disk,
    quota: own,
    quotaText: own?.text ?? (quota ? unlimitedText(quota.used_bytes) : null),
    level: LEVELS[Math.max(...levels)] ?? 'fine',
  };
}

const unlimitedText = (used: number): string =>
  t`You use ${{ used: sizeText(used) }}; you have no quota.`;

function diskRoom(free: number, total: number): Measure {
  const used = sizeText(total - free);
  const text = t`${used} of ${{ total: sizeText(total) }} are used on this disk.`;
  const percent = Math.min(100, Math.floor(((total - free) / total) * 100));
  return { text, percent, level: free === 0 ? 'full' : percent >= TIGHT ? 'tight' : 'fine' };
}

/** Return the quota that is closest to its limit: bytes or files. */
function quotaRoom(quota: NonNullable<Space['quota']>): Measure | null {
  const { used_bytes: bytes, limit_bytes: mostBytes, used_files, limit_files: mostFiles } = quota;
  const measures: Measure[] = [];
  if (mostBytes !== null)
    measures.push(
      measureOf(
        bytes,
        mostBytes,
        t`You use ${{ used: sizeText(bytes) }} of your ${{ most: sizeText(mostBytes) }}.`,
      ),
    );
  if (mostFiles !== null && used_files !== null)
    measures.push(
      measureOf(
        used_files,
        mostFiles,
        t`You have ${{ used: countText(used_files) }} of your ${{ most: countText(mostFiles) }} files.`,
      ),
    );
  return measures.toSorted((measure, other) => other.percent - measure.percent)[0] ?? null;
}

function measureOf(used: number, most: number, text: string): Measure {
  const percent = most > 0 ? Math.min(100, Math.floor((used / most) * 100)) : 100;
  return { text, percent, level: used >= most ? 'full' : percent >= TIGHT ? 'tight' : 'fine' };
}
