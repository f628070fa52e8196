import { useCallback, useEffect, useRef, useState } from 'react';
import type { Job } from '@/api/types';
import type { JobsSearch } from './search';
import { NOTHING, type Selection, toggled, withRange } from './selection';

interface JobSelection {
  selection: Selection;
  setSelection: (selection: Selection) => void;
  /** toggles a job; with `isRange`, selects the jobs from the last one to it. `inOrder`: the loaded
   * jobs as they are shown */
  choose: (id: string, isRange: boolean, inOrder: readonly Job[]) => void;
  /** selects the jobs from one to another */
  extend: (from: string, to: string, inOrder: readonly Job[]) => void;
}

/** The selected jobs of a list; none after a change of its filters, order or groups. */
export function useJobSelection(search: JobsSearch): JobSelection {
  const [selection, setSelection] = useState<Selection>(NOTHING);
  /** the job that was selected last, where a range begins */
  const last = useRef<string | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the selected jobs were those of another list
  useEffect(() => setSelection(NOTHING), [search]);
  const extend = useCallback((from: string, to: string, inOrder: readonly Job[]) => {
    last.current = to;
    setSelection((before) => withRange(before, inOrder, from, to));
  }, []);
  const choose = useCallback(
    (id: string, isRange: boolean, inOrder: readonly Job[]) => {
      const from = last.current;
      if (isRange && from !== null) {
        extend(from, id, inOrder);
        return;
      }
      last.current = id;
      setSelection((before) => toggled(before, id, inOrder));
    },
    [extend],
  );
  return { selection, setSelection, choose, extend };
}
