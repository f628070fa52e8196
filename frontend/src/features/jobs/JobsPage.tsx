import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper, Skeleton, Stack, Text, Title, VisuallyHidden } from '@mantine/core';
import { Link, useSearch } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState } from 'react';
import { sentence } from '@/api/problem';
import classes from '@/ui/CardList.module.css';
import { Icon } from '@/ui/icons';
import { Notice } from '@/ui/Notice';
import { PageTitle } from '@/ui/PageTitle';
import { JobCard } from './JobCard';
import { JobFilters } from './JobFilters';
import { SelectionBar } from './SelectionBar';
import { isFiltered, type JobsSearch } from './search';
import { isChosen, NOTHING, type Selection, turned } from './selection';
import { useJobs } from './useJobs';

/** One's jobs as they change: filtered, sorted, and several at once. */
export function JobsPage() {
  const search = useSearch({ from: '/member/jobs' });
  const jobs = useJobs(search);
  const { rows, titles, error, loading, count } = jobs;
  const filtered = isFiltered(search);
  const none = !loading && !error && rows.length === 0;
  return (
    <>
      <Top />
      {(filtered || rows.length > 0) && <JobFilters search={search} titles={titles} />}
      {error && <Notice tone="error">{sentence(error)}</Notice>}
      {loading && rows.length === 0 && (
        <Skeleton height={130} radius="lg" aria-label={t`Loading`} />
      )}
      {none && (filtered ? <NoneFound /> : <NoneYet />)}
      <VisuallyHidden component="p" role="status">
        {!loading && count !== undefined && plural(count, { one: '# job', other: '# jobs' })}
      </VisuallyHidden>
      {rows.length > 0 && <List search={search} jobs={jobs} />}
    </>
  );
}

function Top() {
  return (
    <div className={classes.top}>
      <PageTitle tab={t`Jobs`}>{t`Your jobs`}</PageTitle>
      <div className={classes.toplinks}>
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

function List({ search, jobs }: { search: JobsSearch; jobs: ReturnType<typeof useJobs> }) {
  const { rows, titles, count, more, reading, readMore, forget } = jobs;
  const [selection, setSelection] = useState<Selection>(NOTHING);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was chosen was of another list
  useEffect(() => setSelection(NOTHING), [search]);
  const shown = useRef(rows);
  shown.current = rows;
  const choose = useCallback(
    (id: string) => setSelection((before) => turned(before, id, shown.current)),
    [],
  );
  return (
    <>
      <SelectionBar
        search={search}
        rows={rows}
        count={count}
        selection={selection}
        onSelect={setSelection}
        onRemoved={forget}
      />
      <div className={classes.list}>
        {rows.map((job) => (
          <JobCard
            key={job.id}
            job={job}
            title={job.template === null ? undefined : titles.get(job.template)}
            chosen={isChosen(selection, job.id)}
            onChoose={choose}
            onRemoved={forget}
          />
        ))}
        {more && (
          <Button variant="default" loading={reading} onClick={readMore}>
            {search.order === undefined ? t`Show older jobs` : t`Show more jobs`}
          </Button>
        )}
      </div>
    </>
  );
}

function NoneYet() {
  return (
    <Paper className={classes.empty}>
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
    <Paper className={classes.empty}>
      <Stack align="flex-start" gap="sm">
        <Text>
          <Trans>No matching jobs.</Trans>
        </Text>
        <Button component={Link} to="/jobs" variant="default">
          <Trans>Show all jobs</Trans>
        </Button>
      </Stack>
    </Paper>
  );
}
