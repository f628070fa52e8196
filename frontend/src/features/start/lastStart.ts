/** The user's last choice on the start page, stored by username in this browser only. */

import {
  type ExplicitResources,
  isExplicitResources,
} from '@/features/resources/requestedResources';
import { readStored, writeStored } from '@/lib/storage';

const keyOf = (username: string): string => `portal.last-start ${username}`;

export interface LastStart {
  environment: string | null;
  /** null for custom resources */
  preset: string | null;
  custom: ExplicitResources | null;
}

const NOTHING: LastStart = { environment: null, preset: null, custom: null };

export function loadLastStart(username: string): LastStart {
  try {
    const value: unknown = JSON.parse(readStored(keyOf(username)) ?? 'null');
    if (typeof value !== 'object' || value === null) return NOTHING;
    const last: LastStart = { ...NOTHING, ...value };
    return { ...last, custom: isExplicitResources(last.custom) ? last.custom : null };
  } catch {
    return NOTHING; // an older version wrote it
  }
}

/** Save the choice; without storage the next start begins with the defaults. */
export function saveLastStart(username: string, choice: LastStart): void {
  writeStored(keyOf(username), JSON.stringify(choice));
}
