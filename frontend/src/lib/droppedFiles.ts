import { onLogout } from '@/lib/onLogout';

/** Files dropped on a page that hands them to the form for jobs. */
let waiting: readonly File[] = [];

export function keepDropped(files: readonly File[]): void {
  waiting = files;
}

/** Return the files that were dropped on another page, once. */
export function takeDropped(): readonly File[] {
  const files = waiting;
  waiting = [];
  return files;
}

onLogout(() => keepDropped([]));
