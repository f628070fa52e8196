/** The keys of the table of jobs. Pure: maps a pressed key to an action. */
import { t } from '@lingui/core/macro';

export type TableAction =
  /** moves to a row; with `isRange`, also selects everything from the previously active row to it */
  | { kind: 'move'; to: number; isRange: boolean }
  /** selects or deselects the row's job; with `isRange`, selects those from the last one to it */
  | { kind: 'select'; isRange: boolean }
  /** opens the row's job, or folds its group */
  | { kind: 'open' };

/** The keys that work wherever the focus is, for the dialog of shortcuts. */
export const TABLE_SHORTCUTS: readonly { keys: readonly string[]; title: string }[] = [
  { keys: ['j', 'k'], title: t`Jobs: to the next or previous row` },
  { keys: ['x'], title: t`Jobs: select the row; with Shift, all rows from the last selected one` },
  { keys: ['Enter'], title: t`Jobs: open the row` },
];

const SCREENFUL = 10;

interface Pressed {
  key: string;
  shiftKey: boolean;
}

interface Place {
  /** the row that was moved to last; null: none yet */
  active: number | null;
  count: number;
}

function moved({ active, count }: Place, step: number, isRange: boolean): TableAction | null {
  if (count === 0) return null;
  const to = active === null ? 0 : Math.min(count - 1, Math.max(0, active + step));
  return { kind: 'move', to, isRange };
}

/** Return the effect of a key pressed inside the table; null if it has none. */
export function tableAction({ key, shiftKey }: Pressed, place: Place): TableAction | null {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: SCREENFUL,
    PageUp: -SCREENFUL,
    Home: -place.count,
    End: place.count,
  };
  const step = steps[key];
  return step === undefined ? null : moved(place, step, shiftKey);
}

/** Return the effect of a single key pressed anywhere on the page; null if it has none. */
export function singleKeyAction({ key, shiftKey }: Pressed, place: Place): TableAction | null {
  switch (key.toLowerCase()) {
    case 'j':
      return moved(place, 1, shiftKey);
    case 'k':
      return moved(place, -1, shiftKey);
    case 'x':
      return place.active === null ? null : { kind: 'select', isRange: shiftKey };
    case 'enter':
      return place.active === null ? null : { kind: 'open' };
    default:
      return null;
  }
}
