import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper, Stack, Text, Title, VisuallyHidden } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { Link, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo, useRef } from 'react';
import { errorMessage } from '@/api/problem';
import cardClasses from '@/ui/CardList.module.css';
import { Icon } from '@/ui/icons';
import { ListSkeleton } from '@/ui/ListSkeleton';
import { PageTitle } from '@/ui/PageTitle';
import { discardTypedSearches } from '@/ui/SearchField';
import { TryAgain } from '@/ui/TryAgain';
import { columnLabel, shownColumns } from './columns';
import { JobCard } from './JobCard';
import { JobFilters } from './JobFilters';
import filterClasses from './JobFilters.module.css';
import classes from './JobsPage.module.css';
import { JobTable } from './JobTable';
import { SelectionBar } from './SelectionBar';
import { StateTabs } from './StateTabs';
import { isFiltered, type JobsSearch, type ListOrder, REQUIRED_TIMES } from './search';
import { isChosen, type Selection } from './selection';
import { ColumnsButton, GroupSelect } from './TableTools';
import { useJobSelection } from './useJobSelection';
import { type Jobs, useJobs } from './useJobs';
import { useTablePreferences } from './useTablePreferences';
import { ViewsButton } from './Views';

/** Below this width the jobs are cards. */
const NARROW = '(max-width: 47.99em)';

/** The user's jobs, updated live, with filters, sorting and bulk operations. */
export function JobsPage() {
  const search = useSearch({ from: '/signed-in/jobs' });
  const jobs = useJobs(search);
  const preferences = useTablePreferences();
  const isNarrow = useMediaQuery(NARROW, false, { getInitialValueInEffect: false });
  const { rows, titles, error, count, counts } = jobs;
  const loading = jobs.loading || preferences.loading;
  const filtered = isFiltered(search);
  const none = !loading && !error && rows.length === 0;
  return (
    <div className={isNarrow || rows.length === 0 ? undefined : classes.wide}>
      <Top />
      {(filtered || rows.length > 0) && (
        <>
          <StateTabs search={search} counts={counts} />
          <JobFilters search={search} titles={titles} withOrder={isNarrow}>
            {!isNarrow && (
              <>
                <GroupSelect search={search} />
                <div className={filterClasses.tools}>
                  <ViewsButton search={search} preferences={preferences} />
                  <ColumnsButton jobs={rows} preferences={preferences} />
                </div>
              </>
            )}
          </JobFilters>
        </>
      )}
      {error && <TryAgain error={errorMessage(error)} onRetry={jobs.retry} />}
      {loading && !error && <ListSkeleton />}
      {none && (filtered ? <NoneFound /> : <NoneYet />)}
      <VisuallyHidden component="p" role="status">
        {!loading && count !== undefined && plural(count, { one: '# job', other: '# jobs' })}
      </VisuallyHidden>
      {!loading && rows.length > 0 && (
        <List search={search} jobs={jobs} columns={isNarrow ? undefined : preferences.columns} />
      )}
    </div>
  );
}

function Top() {
  return (
    <div className={cardClasses.top}>
      <PageTitle tab={t`Jobs`}>{t`Your jobs`}</PageTitle>
      <div className={cardClasses.toplinks}>
        <Button
          component={Link}
          to="/benchmarks"
          variant="subtle"
          color="gray"
          leftSection={<Icon name="chip" />}
        >
          <Trans>Benchmarks</Trans>
        </Button>
        <Button
          component={Link}
          to="/shared"
          variant="subtle"
          color="gray"
          leftSection={<Icon name="share" />}
        >
          <Trans>Shared with you</Trans>
        </Button>
        <Button component={Link} to="/jobs/new" leftSection={<Icon name="plus" />}>
          <Trans>Submit a job</Trans>
        </Button>
      </div>
    </div>
  );
}

interface ListProps {
  search: JobsSearch;
  jobs: Jobs;
  /** the columns of the table; undefined: cards instead */
  columns: readonly string[] | null | undefined;
}

function List({ search, jobs, columns }: ListProps) {
  const { rows, count, hasMore, isFetchingMore, fetchMore, removeRows } = jobs;
  const { selection, setSelection, choose, extend } = useJobSelection(search);
  const shown = useMemo(() => columns !== undefined && shownColumns(columns), [columns]);
  return (
    <>
      <SelectionBar
        search={search}
        rows={rows}
        count={count}
        selection={selection}
        onSelect={setSelection}
        onRemoved={removeRows}
      />
      {search.order && REQUIRED_TIMES[search.order] && (
        <p className={classes.note}>{unlistedText(search.order)}</p>
      )}
      {search.by && (
        <p className={classes.note}>
          {t`Sorted by ${{ column: columnLabel(search.by) }}: jobs that have no such value are not listed.`}
        </p>
      )}
      {!shown ? (
        <Cards jobs={jobs} selection={selection} onChoose={choose} />
      ) : (
        <JobTable
          search={search}
          jobs={jobs}
          columns={shown}
          selection={selection}
          onChoose={choose}
          onExtend={extend}
        />
      )}
      {hasMore && (
        <Button
          className={classes.older}
          variant="default"
          fullWidth
          loading={isFetchingMore}
          onClick={fetchMore}
        >
          {search.order === undefined ? t`Show older jobs` : t`Show more jobs`}
        </Button>
      )}
    </>
  );
}

function unlistedText(order: ListOrder): string {
  switch (order) {
    case 'duration':
    case 'duration_up':
      return t`Sorted by duration: jobs that have not run and ended are not listed.`;
    case 'ended':
    case 'ended_up':
      return t`Sorted by their end: jobs that have not ended are not listed.`;
    default:
      return t`Sorted by their start: jobs that have not started are not listed.`;
  }
}

interface CardsProps {
  jobs: Jobs;
  selection: Selection;
  onChoose: ReturnType<typeof useJobSelection>['choose'];
}

function Cards({ jobs: { rows, titles, removeRows }, selection, onChoose }: CardsProps) {
  const loaded = useRef(rows);
  loaded.current = rows;
  const choose = useCallback((id: string) => onChoose(id, false, loaded.current), [onChoose]);
  return (
    <div className={cardClasses.list}>
      {rows.map((job) => (
        <JobCard
          key={job.id}
          job={job}
          title={job.template === null ? undefined : titles.get(job.template)}
          chosen={isChosen(selection, job.id)}
          onChoose={choose}
          onRemoved={removeRows}
        />
      ))}
    </div>
  );
}

function NoneYet() {
  return (
    <Paper className={cardClasses.empty}>
      <Stack align="flex-start" gap="sm">
        <Title order={2} size="h4">
          <Trans>Submit your first job</Trans>
        </Title>
        <Text c="dimmed" maw={520}>
          <Trans>
            A job runs a script on the cluster without you: it waits in the queue, runs to
            completion, and its log and TensorBoard stay available here. Start from a template, or
            bring your own script.
          </Trans>
        </Text>
        <Button
          component={Link}
          to="/jobs/new"
          size="md"
          mt="xs"
          leftSection={<Icon name="play" />}
        >
          <Trans>Choose a template</Trans>
        </Button>
      </Stack>
    </Paper>
  );
}

function NoneFound() {
  return (
    <Paper className={cardClasses.empty}>
      <Stack align="flex-start" gap="sm">
        <Text>
          <Trans>No matching jobs.</Trans>
        </Text>
        <Button component={Link} to="/jobs" variant="default" onClick={discardTypedSearches}>
          <Trans>Show all jobs</Trans>
        </Button>
      </Stack>
    </Paper>
  );
}
