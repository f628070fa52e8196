/** Labels of the log view. Pure. */
import { t } from '@lingui/core/macro';
import type { SearchResult } from './find';
import type { LogState } from './followLog';

const STATE_TEXT: Record<LogState['state'], string> = {
  loading: t`Reading…`,
  following: t`New lines appear as they are written.`,
  broken: t`Connection lost, trying again…`,
  refused: '',
  complete: t`End of log.`,
};

/** Describe a log's state; if its beginning is not loaded, that this is its end. */
export function stateText({ state, bytesBefore }: Pick<LogState, 'state' | 'bytesBefore'>): string {
  if (state === 'complete' && bytesBefore !== 0) return t`End of the log.`;
  return STATE_TEXT[state];
}

/** Return the text shown for an empty log; for a refused one, the error is shown instead. */
export function emptyText({ state }: Pick<LogState, 'state'>): string {
  if (state === 'loading' || state === 'refused') return STATE_TEXT[state];
  return state === 'complete' ? t`There is no output here.` : t`No output yet.`;
}

/** Describe the current match: "3 of 17", "3 of more than 2000", "Not found"; empty without a
 * search. `partly`: only a part of the log is loaded. */
export function matchText(
  query: string,
  { matches, more }: SearchResult,
  index: number,
  partly = false,
): string {
  if (query === '') return '';
  if (matches.length === 0) return partly ? t`Not found in the loaded part` : t`Not found`;
  const place = index + 1;
  const all = matches.length;
  if (more)
    return partly
      ? t`${place} of more than ${all} in the loaded part`
      : t`${place} of more than ${all}`;
  return partly ? t`${place} of ${all} in the loaded part` : t`${place} of ${all}`;
}
