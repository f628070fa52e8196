import { t } from '@lingui/core/macro';
import { Link } from '@tanstack/react-router';
import { countText } from '@/lib/countText';
import classes from './StateTabs.module.css';
import { countMatching, type JobsSearch, type StateFilter } from './search';
import type { CountsByState } from './useJobCount';

interface Tab {
  state: StateFilter | undefined;
  label: string;
  /** `chosen`: shown only while it is chosen; `some`: also while it has jobs; absent: always */
  only?: 'chosen' | 'some';
}

const TABS: readonly Tab[] = [
  { state: undefined, label: t`All` },
  { state: 'live', label: t({ message: 'Active', context: 'jobs' }) },
  { state: 'waiting', label: t`Queued` },
  { state: 'running', label: t`Running` },
  { state: 'ended', label: t`Ended`, only: 'chosen' },
  { state: 'completed', label: t`Completed` },
  { state: 'failed', label: t`Failed` },
  { state: 'out_of_memory', label: t`Out of memory`, only: 'some' },
  { state: 'timeout', label: t`Timed out`, only: 'some' },
  { state: 'cancelled', label: t`Cancelled` },
];

interface Props {
  search: JobsSearch;
  counts: CountsByState | undefined;
}

/** The states as links, each with its number of jobs. */
export function StateTabs({ search, counts }: Props) {
  const { state: chosen, ...rest } = search;
  const isShown = ({ state, only }: Tab): boolean =>
    only === undefined ||
    state === chosen ||
    (only === 'some' && counts !== undefined && countMatching(counts, state) > 0);
  return (
    <nav className={classes.tabs} aria-label={t`State`}>
      {TABS.filter(isShown).map(({ state, label }) => (
        <Link
          key={label}
          to="/jobs"
          search={state === undefined ? rest : { ...rest, state }}
          className={classes.tab}
          activeOptions={{ exact: true, includeSearch: true }}
          replace
          preload={false}
        >
          {label}
          {counts && (
            <>
              {' '}
              <span className={classes.count}>{countText(countMatching(counts, state))}</span>
            </>
          )}
        </Link>
      ))}
    </nav>
  );
}
