import {
  type KeyboardEvent as ReactKeyboardEvent,
  type RefObject,
  useEffect,
  useRef,
  useState,
} from 'react';
import { scrollToRow } from '@/features/files/useWindowed';
import { areSingleKeysOn, isPlainKey } from '@/lib/singleKeys';
import { isForDialog } from '@/ui/focus';
import { singleKeyAction, type TableAction, tableAction } from './tableKeys';
import type { TableRow } from './tableRows';

/** The height of a row. */
export const ROW_REM = 2.25;

interface Table {
  rows: readonly TableRow[];
  box: RefObject<HTMLElement | null>;
  body: RefObject<HTMLElement | null>;
  /** selects or deselects a row */
  select: (row: TableRow, isRange: boolean) => void;
  /** selects all rows between two */
  extend: (from: TableRow, to: TableRow) => void;
  open: (row: TableRow) => void;
}

interface Keys {
  /** the key of the row that was moved to or focused last */
  active: string | null;
  setActive: (key: string) => void;
  onKeyDown: (event: ReactKeyboardEvent) => void;
}

const CONTROL = 'a,button,input,select,textarea,summary';

/** Moves through the table by keyboard. The focus goes to the row's link or button, which is what
 * Enter opens. */
export function useTableKeys(table: Table): Keys {
  const [active, setActive] = useState<string | null>(null);
  const wantsFocus = useRef(false);
  const { rows, body, box } = table;
  const found = rows.findIndex(({ key }) => key === active);
  const place = { active: found < 0 ? null : found, count: rows.length };

  const apply = (action: TableAction): void => {
    const row = rows[found];
    if (action.kind === 'move') {
      const next = rows[action.to];
      if (!next) return;
      if (action.isRange && row) table.extend(row, next);
      setActive(next.key);
      wantsFocus.current = true;
      scrollToRow(body.current, action.to, ROW_REM, box.current);
    } else if (row && action.kind === 'select') table.select(row, action.isRange);
    else if (row && action.kind === 'open') table.open(row);
  };

  const onPageKey = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.isComposing || isForDialog(event)) return;
    if (!isPlainKey(event) || !areSingleKeysOn()) return;
    const onControl = event.target instanceof Element && event.target.closest(CONTROL) !== null;
    if (event.key === 'Enter' && onControl) return; // opens what has the focus
    const action = singleKeyAction(event, place);
    if (action === null) return;
    event.preventDefault();
    apply(action);
  };
  const latest = useRef(onPageKey);
  latest.current = onPageKey;
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => latest.current(event);
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, []);

  // after each rendering, until the row is rendered that a scroll has brought into sight
  useEffect(() => {
    if (!wantsFocus.current || active === null) return;
    const main = body.current?.querySelector<HTMLElement>(
      `[data-key="${CSS.escape(active)}"] [data-main]`,
    );
    if (!main) return;
    wantsFocus.current = false;
    main.focus({ preventScroll: true });
  });

  const onKeyDown = (event: ReactKeyboardEvent): void => {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
    const action = tableAction(event, place);
    if (action === null) return;
    event.preventDefault();
    apply(action);
  };
  return { active: found < 0 ? null : active, setActive, onKeyDown };
}
