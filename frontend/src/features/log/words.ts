/** What is said about a log. Pure. */
import type { Finding } from './find';
import type { LogState } from './useLog';

const STATE_TEXT: Record<LogState['state'], string> = {
  loading: 'Reading…',
  following: 'Following: new lines appear by themselves.',
  broken: 'Connection lost, trying again…',
  complete: 'This is all of it.',
};

/** How it stands; of a log whose beginning isn't shown, that this is its end. */
export function stateText({ state, before }: Pick<LogState, 'state' | 'before'>): string {
  if (state === 'complete' && before !== 0) return 'This is its end: nothing more will come.';
  return STATE_TEXT[state];
}

/** "3 of 17", "3 of more than 2000", "Not found"; empty while nothing is looked for. */
export function foundText(wanted: string, { found, more }: Finding, at: number): string {
  if (wanted === '') return '';
  if (found.length === 0) return 'Not found';
  const place = at + 1;
  return more ? `${place} of more than ${found.length}` : `${place} of ${found.length}`;
}
