/** Labels of the log view. Pure. */
import { t } from '@lingui/core/macro';
import type { Finding } from './find';
import type { LogState } from './useLog';

const STATE_TEXT: Record<LogState['state'], string> = {
  loading: t`Reading…`,
  following: t`Following: new lines appear by themselves.`,
  broken: t`Connection lost, trying again…`,
  complete: t`This is all of it.`,
};

/** How it stands; of a log whose beginning isn't shown, that this is its end. */
export function stateText({ state, before }: Pick<LogState, 'state' | 'before'>): string {
  if (state === 'complete' && before !== 0) return t`End of the log.`;
  return STATE_TEXT[state];
}

/** What stands in the place of an empty log. */
export function emptyText({ state }: Pick<LogState, 'state'>): string {
  if (state === 'loading') return STATE_TEXT.loading;
  return state === 'complete' ? t`There is no output here.` : t`No output yet.`;
}

/** "3 of 17", "3 of more than 2000", "Not found"; empty while nothing is looked for. `partly`: there is
 * more of the log than is shown. */
export function foundText(
  wanted: string,
  { found, more }: Finding,
  at: number,
  partly = false,
): string {
  if (wanted === '') return '';
  if (found.length === 0) return partly ? t`Not found in what is shown` : t`Not found`;
  const place = at + 1;
  const all = found.length;
  if (more)
    return partly
      ? t`${place} of more than ${all} in what is shown`
      : t`${place} of more than ${all}`;
  return partly ? t`${place} of ${all} in what is shown` : t`${place} of ${all}`;
}
