import { plural, t } from '@lingui/core/macro';
import { Button, Checkbox, VisuallyHidden } from '@mantine/core';
import { Suspense } from 'react';
import type { Job } from '@/api/types';
import { clock } from '@/lib/clock';
import { countText } from '@/lib/countText';
import { lazyPart } from '@/ui/lazyPart';
import classes from './SelectionBar.module.css';
import type { JobsSearch } from './search';
import { NOTHING, type Selection, selectedJobs } from './selection';

const SelectionActions = lazyPart(
  async () => (await import('./SelectionActions')).SelectionActions,
);

interface Props {
  search: JobsSearch;
  /** the loaded jobs; `count`: the number of all matching jobs */
  rows: readonly Job[];
  count: number | undefined;
  selection: Selection;
  onSelect: (selection: Selection) => void;
  onRemoved: (...ids: string[]) => void;
}

/** The bar that selects all jobs, counts the selection, and offers bulk operations. */
export function SelectionBar({ search, rows, count, selection, onSelect, onRemoved }: Props) {
  const chosen = selectedJobs(selection, rows);
  const number = selection.kind === 'all' ? (count ?? chosen.length) : chosen.length;
  const everything = rows.length > 0 && chosen.length === rows.length;
  const more = count !== undefined && count > rows.length;
  return (
    <div className={classes.bar} data-chosen={number > 0}>
      <Checkbox
        label={number > 0 ? chosenText(number) : jobCountText(count)}
        aria-label={everything ? t`Select none` : t`Select all that are shown`}
        checked={everything}
        indeterminate={!everything && chosen.length > 0}
        onChange={() =>
          onSelect(everything ? NOTHING : { kind: 'some', ids: new Set(rows.map((job) => job.id)) })
        }
      />
      {everything && more && selection.kind === 'some' && (
        <Button
          variant="subtle"
          px="xs"
          onClick={() => onSelect({ kind: 'all', until: new Date(clock.now()).toISOString() })}
        >
          {t`Select all ${{ count: countText(count) }}`}
        </Button>
      )}
      <VisuallyHidden component="span" aria-live="polite">
        {number > 0 && chosenText(number)}
      </VisuallyHidden>
      {number > 0 && (
        <Suspense>
          <SelectionActions
            {...{ search, selection, chosen, number, onSelect, onRemoved }}
            key={selection.kind === 'all' ? 'all' : 'some'}
          />
        </Suspense>
      )}
    </div>
  );
}

function jobCountText(count: number | undefined): string {
  if (count === undefined) return t`Select jobs`;
  return plural(count, { one: '# job', other: '# jobs' });
}

const chosenText = (count: number): string =>
  plural(count, { one: '# selected', other: '# selected' });
